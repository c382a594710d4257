"""A request's key is its content: what can change an answer, and nothing that cannot."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from stablechoice.request import Address, Decoding, Request, request_key

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
