"""A request's key is its content: what can change an answer, and nothing that cannot."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from stablechoice.request import Address, Decoding, Keys, Request, canonical_json, request_key

DECODING = Decoding(0.0, 64)
IDENTITY = {"engine": "scripted"}
PLAIN = Request("q1", Address("direct_mcq", 2), "Which?")
CLOZE = Request("q1", Address("likelihood", option=1), "Which?", continuation=" one")


def key(request: Request) -> str:
    return request_key(IDENTITY, DECODING, request)


def test_the_key_of_a_request_without_a_continuation_is_what_recorded_answers_have() -> None:
    # Sorted keys without spaces, as every journal and every generations file so far was keyed.
    content = (
        '{"engine":{"engine":"scripted"},"letters":[],"max_new_tokens":64,'
        '"messages":[{"content":"Which?","role":"user"}],"prefill":"","repetition":0,"temperature":0.0}'
    )
    assert key(PLAIN) == hashlib.sha256(content.encode()).hexdigest()


def test_a_continuation_is_content() -> None:
    content = (
        '{"continuation":" one","engine":{"engine":"scripted"},"letters":[],"max_new_tokens":64,'
        '"messages":[{"content":"Which?","role":"user"}],"prefill":"","repetition":0,"temperature":0.0}'
    )
    assert key(CLOZE) == hashlib.sha256(content.encode()).hexdigest()
    assert key(replace(CLOZE, continuation=" two")) != key(CLOZE)


def test_why_it_is_asked_is_no_content() -> None:
    assert key(replace(PLAIN, question_id="q2", address=Address("other", 3, 1), purpose="order")) == key(PLAIN)


def test_letters_and_prefill_are_content_and_only_probabilities_are_wanted_without_a_text() -> None:
    letters = replace(PLAIN, letters=("A", "B"))
    assert len({key(PLAIN), key(letters), key(replace(letters, prefill="It is "))}) == 3
    assert [request.wants_probabilities for request in (PLAIN, letters, CLOZE)] == [False, True, True]


TEXT = st.text(max_size=12)
PLAIN_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


@given(
    st.dictionaries(TEXT, PLAIN_JSON, max_size=4),
    st.builds(Decoding, st.floats(0, 2), st.integers(1, 4096)),
    st.builds(
        Request,
        TEXT,
        st.builds(Address, TEXT, repetition=st.integers(0, 3)),
        TEXT,
        prefill=TEXT,
        letters=st.lists(TEXT, max_size=3).map(tuple),
        continuation=TEXT,
    ),
)
@settings(deadline=None, max_examples=200)
def test_a_key_is_the_hash_of_all_content_as_canonical_json(
    identity: dict[str, object], decoding: Decoding, request: Request
) -> None:
    content: dict[str, object] = {
        "engine": identity,
        "temperature": decoding.temperature,
        "max_new_tokens": decoding.max_new_tokens,
        "messages": [{"role": "user", "content": request.prompt}],
        "prefill": request.prefill,
        "letters": list(request.letters),
        "repetition": request.address.repetition,
        **({"continuation": request.continuation} if request.continuation else {}),
    }
    try:
        expected = hashlib.sha256(canonical_json(content).encode("utf-8")).hexdigest()
    except UnicodeEncodeError:  # a lone surrogate has no bytes, here or there
        return
    assert Keys(identity, decoding).of(request) == expected
