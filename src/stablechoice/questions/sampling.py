"""Which questions a study asks: the papers' sampling rules and two of our own (PROTOCOL 1).

A rule is a function from a benchmark's questions, in source order, to the questions of the sample, in the order in
which the manifest lists them. `conf/benchmark` chooses one by its name in `RULES` and gives its arguments.
"""

from __future__ import annotations

import hashlib
import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from stablechoice.errors import ConfigError, DataError
from stablechoice.questions.loading import repeated_ids
from stablechoice.questions.question import Question, question_id
from stablechoice.questions.relational import is_relational

_V1_FIRST_SUBJECTS = (
    *("high_school_physics", "college_mathematics", "anatomy", "college_chemistry", "computer_security"),
    *("medical_genetics", "college_biology", "clinical_knowledge", "high_school_psychology", "econometrics"),
    *("sociology", "philosophy", "high_school_world_history", "jurisprudence", "professional_law"),
    *("professional_medicine", "professional_accounting", "moral_scenarios", "nutrition", "global_facts"),
)
_V1_LEFT_OUT = frozenset(
    ("human_aging", "human_sexuality", "management", "marketing", "miscellaneous", "moral_disputes", "public_relations")
)


def sample(questions: Sequence[Question], rule: Mapping[str, Any], benchmark: str) -> list[Question]:
    """Draw a sample by the rule that a benchmark's configuration names.

    Args:
        questions: the whole benchmark in source order, repeated rows included.
        rule: the configuration's `sample` block: `rule`, a name in `RULES`, and the arguments of that function.
        benchmark: the benchmark's word in hashes, e.g. `arc_challenge`.

    Raises:
        ConfigError: an unknown rule, or arguments that the rule does not take.
        DataError: the benchmark holds too few questions for the rule.
    """
    arguments = dict(rule)
    name = arguments.pop("rule", None)
    if not isinstance(name, str) or name not in RULES:
        raise ConfigError(f"{benchmark}: unknown sampling rule {name!r}; sample.rule is one of {', '.join(RULES)}")
    draw = RULES[name]
    parameters = inspect.signature(draw, eval_str=True).parameters
    own = [key for key in parameters if key not in ("questions", "benchmark")]
    if set(arguments) != set(own):
        raise ConfigError(
            f"{benchmark}: sampling rule {name} takes {', '.join(own) or 'no arguments'}, "
            f"but sample has {', '.join(sorted(arguments)) or 'none'}"
        )
    for key in own:
        if parameters[key].annotation is int and (type(arguments[key]) is not int or arguments[key] < 0):
            raise ConfigError(f"{benchmark}: sample.{key} must be a whole number from 0, found {arguments[key]!r}")
    if "benchmark" in parameters:
        arguments["benchmark"] = benchmark
    return draw(questions, **arguments)


def repeat_subset(questions: Sequence[Question], *, benchmark: str, count: int = 100, seed: int = 42) -> list[Question]:
    """The questions that are asked repeatedly in one order, sorted by id (PROTOCOL 1, repeat subset).

    Args:
        questions: the sample, not the whole benchmark.
        benchmark: `mmlu` or `arc_challenge`: part of what is hashed.

    Raises:
        DataError: fewer than `count` questions.
    """
    return ranked(questions, benchmark=benchmark, name="stochasticity-subset-v1", seed=seed, count=count)


def everything(questions: Sequence[Question]) -> list[Question]:
    """Each question once, sorted by id: [P2]'s ARC-Challenge."""
    return _by_id(_once(questions))


def per_subject(questions: Sequence[Question], *, count: int, seed: int) -> list[Question]:
    """`count` questions of each subject, sorted by id: [P2]'s MMLU (PROTOCOL 1, sampling).

    Rows whose id occurs more than once are dropped. One legacy `RandomState` stream, which numpy has frozen, serves
    the subjects in sorted order; equal to pandas' `groupby("subject").sample(count, random_state=seed)`.

    Raises:
        DataError: a subject with fewer than `count` questions.
    """
    twice = repeated_ids(questions)
    unique = [question for question in questions if question.question_id not in twice]
    stream = np.random.RandomState(seed)
    drawn: list[Question] = []
    for subject in sorted({question.subject for question in unique}):
        pool = [question for question in unique if question.subject == subject]
        _require(len(pool), count, f"subject {subject}")
        drawn += [pool[index] for index in stream.choice(len(pool), count, replace=False)]
    return _by_id(drawn)


def mmlu_v1(questions: Sequence[Question], *, count: int, seed: int) -> list[Question]:
    """`count` questions from each of fifty subjects in source order: [P1]'s MMLU (PROTOCOL 1, [P1]'s samples).

    The first of each repeated row is kept. One `default_rng` stream serves twenty subjects in the paper's order and
    then the other thirty alphabetically, each sorted by id; `choice` draws what pandas' `sample(n, random_state=g)`
    does.

    Raises:
        DataError: a subject with fewer than `count` questions.
    """
    once = _once(questions)
    others = {question.subject for question in once}.difference(_V1_FIRST_SUBJECTS, _V1_LEFT_OUT)
    stream = np.random.default_rng(seed)
    drawn: set[str] = set()
    for subject in (*_V1_FIRST_SUBJECTS, *sorted(others)):
        pool = _by_id(question for question in once if question.subject == subject)
        _require(len(pool), count, f"subject {subject}")
        drawn.update(pool[index].question_id for index in stream.choice(len(pool), count, replace=False))
    return [question for question in once if question.question_id in drawn]


def arc_v1(questions: Sequence[Question], *, count: int, seed: int) -> list[Question]:
    """`count` questions in source order: [P1]'s ARC-Challenge (PROTOCOL 1, [P1]'s samples).

    The order that is drawn from is that of `four_option_id`; the questions themselves keep all their options and
    their own ids.

    Raises:
        DataError: fewer than `count` questions.
    """
    once = _once(questions)
    _require(len(once), count, "the benchmark")
    pool = sorted(once, key=four_option_id)
    stream = np.random.default_rng(seed)
    drawn = {pool[index].question_id for index in stream.choice(len(pool), count, replace=False)}
    return [question for question in once if question.question_id in drawn]


def four_option_id(question: Question) -> str:
    """[P1]'s id of a question: made after its options are cut, or padded with an empty text, to four."""
    return question_id(question.subject, question.question, (*question.options, "", "", "")[:4])


def ranked(questions: Sequence[Question], *, benchmark: str, name: str, seed: int, count: int) -> list[Question]:
    """The first `count` questions by rank, sorted by id.

    Args:
        name: sets this draw apart from others of the same benchmark and seed.

    Raises:
        DataError: fewer than `count` questions.
    """
    once = _once(questions)
    _require(len(once), count, "the benchmark")
    return _by_id(_by_rank(once, benchmark, name, seed)[:count])


def ranked_mix(
    questions: Sequence[Question], *, benchmark: str, name: str, seed: int, mix: Mapping[int, int], relational: int
) -> list[Question]:
    """The first questions by rank that keep a mix of option counts with balanced golds, sorted by id.

    Among questions of one option count, gold stands at every position equally often; a remainder goes to the first
    positions. The best-ranked relational questions are taken before the rest.

    Args:
        mix: number of questions wanted for each number of options.
        relational: at least this many questions with a relational option.

    Raises:
        ConfigError: `mix` is no mapping of whole numbers.
        DataError: the benchmark holds too few questions of a kind.
    """
    places = _places(mix, benchmark)
    order = _by_rank(_once(questions), benchmark, name, seed)
    taken: list[Question] = []
    _take(taken, [question for question in order if is_relational(question)], places, relational)
    _require(len(taken), relational, "questions with a relational option")
    rest = [question for question in order if question not in taken]
    _take(taken, rest, places, sum(mix.values()) - len(taken))
    for (options, gold), missing in sorted(places.items()):
        if missing:
            raise DataError(
                f"the sample lacks {missing} question(s) with {options} options and gold {gold}; "
                "give the benchmark more questions, or ask for fewer in sample.mix"
            )
    return _by_id(taken)


def _places(mix: Mapping[int, int], benchmark: str) -> Counter[tuple[int, int]]:
    """How many questions are wanted for each (number of options, gold)."""
    if not isinstance(mix, Mapping) or any(
        type(value) is not int or value < 0 for pair in mix.items() for value in pair
    ):
        raise ConfigError(f"{benchmark}: sample.mix maps numbers of options to numbers of questions, found {mix!r}")
    return Counter(
        {
            (options, gold): count // options + (gold < count % options)
            for options, count in mix.items()
            for gold in range(options)
        }
    )


def _take(taken: list[Question], candidates: Iterable[Question], places: Counter[tuple[int, int]], count: int) -> None:
    """Move up to `count` candidates, in their order, into free places."""
    for question in candidates:
        place = (len(question.options), question.gold)
        if count > 0 and places[place] > 0:
            taken.append(question)
            places[place] -= 1
            count -= 1


def _by_rank(questions: Iterable[Question], benchmark: str, name: str, seed: int) -> list[Question]:
    def rank(question: Question) -> bytes:
        text = f"{name}|{seed}|{benchmark}|{question.question_id}"
        return hashlib.blake2b(text.encode("utf-8"), digest_size=8).digest()

    return sorted(questions, key=rank)


def _by_id(questions: Iterable[Question]) -> list[Question]:
    return sorted(questions, key=lambda question: question.question_id)


def _once(questions: Iterable[Question]) -> list[Question]:
    """The first of each repeated row, in source order."""
    first: dict[str, Question] = {}
    for question in questions:
        first.setdefault(question.question_id, question)
    return list(first.values())


def _require(there: int, wanted: int, what: str) -> None:
    if there < wanted:
        raise DataError(f"{what}: {wanted} wanted, {there} there; give the whole benchmark, or ask for fewer in sample")


RULES: Mapping[str, Callable[..., list[Question]]] = {
    "all": everything,
    "per_subject": per_subject,
    "mmlu_v1": mmlu_v1,
    "arc_v1": arc_v1,
    "ranked": ranked,
    "ranked_mix": ranked_mix,
}
"""Sampling rules by the name under which a configuration chooses them."""
