from __future__ import annotations

import hashlib
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablechoice.errors import ConfigError, DataError
from stablechoice.questions.loading import encode
from stablechoice.questions.nonsense import _below, generate, read_words
from stablechoice.questions.relational import is_relational

SRC = str(Path(__file__).resolve().parents[2] / "src")
WORDS = Path(__file__).resolve().parents[2] / "data" / "sources" / "words.txt"


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 2**70), count=st.integers(1, 60), options=st.integers(2, 26))
def test_golds_are_balanced_ids_unique_and_no_word_stands_twice_in_a_question(
    seed: int, count: int, options: int
) -> None:
    questions = generate(seed, count, options, WORDS)
    golds = Counter(question.gold for question in questions)
    # Balanced up to the remainder, which the first positions take.
    assert golds == Counter(index % options for index in range(count))
    assert len({question.question_id for question in questions}) == count
    for question in questions:
        assert len(question.options) == options
        words = " ".join([question.question.rstrip("?").lower(), *question.options]).split()
        assert len(set(words)) == len(words)


def test_the_first_question_of_seed_42_is_what_the_hash_says() -> None:
    # Derived by hand from sha256("nonsense-v1|42|0|0"), whose four 64-bit numbers give, in turn, the length of the stem
    # (8 + n mod 7) and the first three words (n mod 2209; no number is large enough to be thrown away, none repeats).
    digest = hashlib.sha256(b"nonsense-v1|42|0|0").digest()
    numbers = [int.from_bytes(digest[start : start + 8], "big") for start in range(0, 32, 8)]
    listed = WORDS.read_text(encoding="utf-8").split()
    stem = generate(42, 1, 4, WORDS)[0].question
    assert stem == "Beyond bundle cupboard bright march ruler union frozen weak?"
    assert len(stem.split()) == 8 + numbers[0] % 7
    assert stem.rstrip("?").lower().split()[:3] == [listed[number % 2209] for number in numbers[1:]]


def test_a_number_that_would_favour_the_first_words_is_thrown_away() -> None:
    # 2^64 = 3 * 6148914691236517205 + 1: the last 64-bit number alone would make a 0 likelier than a 1 or a 2.
    assert _below(3, iter([2**64 - 1, 5])) == 2
    assert _below(3, iter([2**64 - 2, 5])) == (2**64 - 2) % 3 == 2
    assert _below(4, iter([2**64 - 1])) == 3


def test_a_question_does_not_depend_on_how_many_are_generated_only_its_gold_does() -> None:
    few, many = generate(42, 5, 4, WORDS), generate(42, 50, 4, WORDS)
    assert [question.options for question in few] == [question.options for question in many[:5]]


def test_another_seed_gives_other_questions_and_other_golds() -> None:
    one, other = generate(1, 40, 4, WORDS), generate(2, 40, 4, WORDS)
    assert not {question.question_id for question in one} & {question.question_id for question in other}
    assert [question.gold for question in one] != [question.gold for question in other]


def test_golds_are_shuffled_not_dealt_in_turn() -> None:
    golds = [question.gold for question in generate(42, 40, 4, WORDS)]
    assert golds != [index % 4 for index in range(40)]
    assert golds != sorted(golds)


def test_bytes_are_the_same_in_another_process_hash_seed_and_locale() -> None:
    program = (
        "import hashlib, sys; from pathlib import Path; from stablechoice.questions.loading import encode\n"
        "from stablechoice.questions.nonsense import generate\n"
        "print(hashlib.sha256(encode(generate(42, 20, 4, Path(sys.argv[1])))).hexdigest())"
    )
    environment = {"PYTHONPATH": SRC, "PYTHONHASHSEED": "7", "LC_ALL": "C"}
    run = subprocess.run(
        [sys.executable, "-c", program, str(WORDS)], capture_output=True, text=True, check=True, env=environment
    )
    assert run.stdout.strip() == hashlib.sha256(encode(generate(42, 20, 4, WORDS))).hexdigest()


@pytest.mark.parametrize(("count", "options"), [(0, 4), (-1, 4), (10, 1), (10, 27)])
def test_what_cannot_be_generated_is_refused(count: int, options: int) -> None:
    with pytest.raises(ConfigError, match="cannot be generated"):
        generate(42, count, options, WORDS)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "the file is empty"),
        (b"apple\npear\n", "2 words; at least 200"),
        (b"apple\npear\napple\n", "words.txt:3: apple stands on line 1 already"),
        (b"apple\n\npear\n", "words.txt:2: '' is no word"),
        (b"apple\ntwo words\n", "words.txt:2: 'two words' is no word"),
        (b"caf\xe9\n", "not UTF-8"),
    ],
)
def test_a_bad_word_list_is_refused(tmp_path: Path, content: bytes, complaint: str) -> None:
    (tmp_path / "words.txt").write_bytes(content)
    with pytest.raises(DataError, match=complaint):
        generate(42, 1, 4, tmp_path / "words.txt")


def test_the_shipped_list_is_long_plain_sorted_and_holds_no_relational_word() -> None:
    words = read_words(WORDS)
    assert len(words) >= 1500
    assert words == sorted(words)
    assert all(word.isascii() and word.islower() for word in words)
    assert not any(is_relational(question) for question in generate(42, 200, 4, WORDS))


@settings(deadline=None, max_examples=25)
@given(shortest=st.integers(1, 12), more=st.integers(0, 6), option_words=st.integers(1, 4), options=st.integers(2, 10))
def test_stems_and_options_have_the_sizes_asked_for(shortest: int, more: int, option_words: int, options: int) -> None:
    sizes = (shortest, shortest + more)
    questions = generate(42, 12, options, WORDS, stem_words=sizes, option_words=option_words)
    for question in questions:
        assert sizes[0] <= len(question.question.split()) <= sizes[1]
        assert {len(option.split()) for option in question.options} == {option_words}
        words = " ".join([question.question.rstrip("?").lower(), *question.options]).split()
        assert len(set(words)) == len(words)


def test_the_default_sizes_are_those_of_the_shipped_questions() -> None:
    assert generate(42, 5, 4, WORDS) == generate(42, 5, 4, WORDS, stem_words=(8, 14), option_words=2)


@pytest.mark.parametrize(
    ("stem_words", "option_words"), [((0, 5), 2), ((6, 5), 2), ((5, 6), 0), ((5,), 2), ((5, 6.5), 2), ((5, 6), True)]
)
def test_sizes_that_are_none_are_refused(stem_words: Any, option_words: Any) -> None:
    with pytest.raises(ConfigError, match=r"stem_words .* cannot be generated"):
        generate(42, 1, 4, WORDS, stem_words=stem_words, option_words=option_words)


def test_questions_that_would_use_up_the_word_list_are_refused(tmp_path: Path) -> None:
    (tmp_path / "few.txt").write_text("\n".join(WORDS.read_text().split()[:200]) + "\n", encoding="utf-8")
    assert generate(42, 2, 26, tmp_path / "few.txt", stem_words=(20, 20), option_words=3)  # 98 words of 200
    with pytest.raises(DataError, match="200 words are too few for questions of up to 104 different words"):
        generate(42, 2, 26, tmp_path / "few.txt", stem_words=(20, 26), option_words=3)
