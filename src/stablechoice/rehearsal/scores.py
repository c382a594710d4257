"""IHS's score of every option, so that accuracy, ties and margins come out as stated."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise

from stablechoice.questions.question import Question
from stablechoice.questions.relational import is_relational, is_relational_option
from stablechoice.rehearsal.choices import DEVIATION, POSITIONS
from stablechoice.rehearsal.draw import draw, ranked, share
from stablechoice.rehearsal.figures import ScoreFigures

Scores = Mapping[str, tuple[int, ...]]
"""Score of each canonical option, 0 to 100, by question id."""

RELATIONAL_GOLD = 0.475
"""How much worse relational golds do than relational questions, as a share of what those miss: 42 % right where those
are 54 % ([P2]'s text: gold at D with and without them), and all where those are all."""

_Group = tuple[str, int]


def scores(name: str, questions: Sequence[Question], figures: ScoreFigures) -> Scores:
    """Plan one model's scores.

    Who wins a tie is not planned: the study's tie-break says it, and the sizes of ties make its chance the stated one.
    """
    groups: dict[_Group, list[Question]] = defaultdict(list)
    for question in ranked(questions, name, "ihs"):
        groups[_group(question)].append(question)
    total = len(questions)
    unique = _unique(groups, figures, share(figures.gold_unique_top, total))
    rest = {key: [q for q in group if q.question_id not in unique] for key, group in groups.items()}
    even = dict.fromkeys(groups, figures.tie_dependent / 100)
    dependent = _taken(rest, even, share(figures.tie_dependent, total), {key: len(groups[key]) for key in groups})
    others = [q for q in ranked(questions, name, "lost") if q.question_id not in unique | dependent]
    lost = share(figures.tied, total) - len(dependent)
    tied = {q.question_id for q in others[: max(0, lost)]}
    made: dict[str, tuple[int, ...]] = {}
    sizes = _tie_sizes(len(dependent), figures)
    for place, question in enumerate(q for q in ranked(questions, name, "size") if q.question_id in dependent):
        made[question.question_id] = _tie(name, question, [question.gold], sizes[place])
    for question in others[: max(0, lost)]:
        made[question.question_id] = _tie(name, question, [], 2)
    untied = [q for q in questions if q.question_id not in tied | dependent]
    margins = _margins(len(untied), figures, tied_share=(len(tied) + len(dependent)) / total)
    # Who is right is surer, if not always.
    surer = sorted(untied, key=lambda q: draw(name, q.question_id, "margin") + 0.4 * (q.question_id in unique))
    for question, margin in zip(surer, margins, strict=True):
        top = question.gold if question.question_id in unique else _some_wrong(name, question)[0]
        made[question.question_id] = _ranking(name, question, top, margin)
    return made


def _group(question: Question) -> _Group:
    position = question.gold if len(question.options) == POSITIONS else -1
    if is_relational_option(question.options[question.gold]):
        return "relational gold", position
    return ("relational" if is_relational(question) else "plain"), position


def _unique(groups: Mapping[_Group, Sequence[Question]], figures: ScoreFigures, total: int) -> set[str]:
    """Questions whose gold stands alone on top: relational ones as their own figure says, others make up the rest."""
    shares = _unique_shares(groups, figures)
    apart = {key: round(shares[key] * len(groups[key])) for key in groups if key[0] != "plain"}
    taken = {q.question_id for key, count in apart.items() for q in groups[key][:count]}
    plain = {key: group for key, group in groups.items() if key[0] == "plain"}
    return taken | _taken(plain, shares, max(0, total - len(taken)))


def _unique_shares(groups: Mapping[_Group, Sequence[Question]], figures: ScoreFigures) -> dict[_Group, float]:
    """Share of questions whose gold stands alone on top, by group: relational ones apart, the rest by position."""
    base, won = figures.gold_unique_top / 100, (figures.accuracy - figures.gold_unique_top) / 100
    shares = dict.fromkeys(groups, base)
    if figures.relational is not None:
        gold, other = _relational_shares(groups, figures.relational / 100, won)
        shares |= {key: gold if key[0] == "relational gold" else other for key in groups if key[0] != "plain"}
    for position in range(POSITIONS):
        plain = len(groups.get(("plain", position), ()))
        here = {key: len(group) for key, group in groups.items() if key[1] == position}
        wanted = base + DEVIATION[position] * figures.rstd / 100
        apart = sum(size * shares[key] for key, size in here.items() if key[0] != "plain")
        if plain:
            shares["plain", position] = min(1.0, max(0.0, (wanted * sum(here.values()) - apart) / plain))
    return shares


def _relational_shares(groups: Mapping[_Group, Sequence[Question]], accuracy: float, won: float) -> tuple[float, float]:
    """Of relational golds, and of other relational questions, so that both together have their accuracy."""
    sizes = {
        kind: sum(len(g) for key, g in groups.items() if key[0] == kind) for kind in ("relational gold", "relational")
    }
    gold = accuracy * (1 - RELATIONAL_GOLD * (1 - accuracy)) if sizes["relational"] else accuracy
    every = accuracy * sum(sizes.values())
    other = (every - gold * sizes["relational gold"]) / sizes["relational"] if sizes["relational"] else accuracy
    # Some of the others win a tie; where all are right, none may depend on that.
    first, second = (min(1.0, max(0.0, one - won * (1 - one))) for one in (gold, other))
    return first, second


def _taken(
    groups: Mapping[_Group, Sequence[Question]],
    shares: Mapping[_Group, float],
    total: int,
    sizes: Mapping[_Group, int] | None = None,
) -> set[str]:
    """The first questions of each group, `total` in all, in proportion to the shares.

    Args:
        sizes: of the groups that the shares are of; None for the groups' own.
    """
    weights = {key: shares[key] * (len(groups[key]) if sizes is None else sizes[key]) for key in sorted(groups)}
    scale = total / sum(weights.values()) if any(weights.values()) else 0.0
    taken: set[str] = set()
    exact = 0.0
    for key, weight in weights.items():
        exact += weight * scale
        # What a group lacks falls to the next.
        taken.update(q.question_id for q in groups[key][: max(0, round(exact) - len(taken))])
    spare = (q for key in sorted(groups) for q in groups[key] if q.question_id not in taken)
    while len(taken) < total and (one := next(spare, None)) is not None:
        taken.add(one.question_id)
    return taken


def _tie_sizes(count: int, figures: ScoreFigures) -> list[int]:
    """How many options share the top: of pairs, threes and fours as many as give gold its stated chance."""
    chance = (figures.accuracy - figures.gold_unique_top) / max(figures.tie_dependent, 1e-9)
    if chance >= 1 / 3:
        small, sizes = (min(chance, 0.5) - 1 / 3) * 6, (2, 3)
    else:
        small, sizes = (max(chance, 0.25) - 1 / 4) * 12, (3, 4)
    smaller = round(small * count)
    return [sizes[0]] * smaller + [sizes[1]] * (count - smaller)


def _margins(count: int, figures: ScoreFigures, tied_share: float) -> list[int]:
    """Margins of untied questions in ascending order, whose quartiles with the ties' zeros are the stated ones."""
    first, median, third = figures.margins
    step = 5 if all(margin % 5 == 0 for margin in figures.margins) else 1
    points = [(tied_share, float(step))]
    points += [(at, margin) for at, margin in ((0.25, first), (0.5, median), (0.75, third)) if at > tied_share]
    points.append((1.0, max(third, min(100.0, third + 10))))
    made = []
    for place in range(count):
        at = tied_share + (place + 0.5) / count * (1 - tied_share)
        (x0, y0), (x1, y1) = next(pair for pair in pairwise(points) if at <= pair[1][0])
        value = y0 + (y1 - y0) * (at - x0) / (x1 - x0)
        made.append(max(step, step * math.floor(value / step + 0.5)))
    return made


def _tie(name: str, question: Question, top: list[int], size: int) -> tuple[int, ...]:
    shared = [*top, *_some_wrong(name, question)][:size]
    highest = 70 + 5 * int(draw(name, question.question_id, "height") * 6)
    return _filled(name, question, dict.fromkeys(shared, highest), highest - 5)


def _ranking(name: str, question: Question, top: int, margin: int) -> tuple[int, ...]:
    second = next(option for option in [*_some_wrong(name, question), question.gold] if option != top)
    highest = max(margin, min(100, 75 + 5 * int(draw(name, question.question_id, "height") * 5)))
    return _filled(name, question, {top: highest, second: highest - margin}, highest - margin)


def _filled(name: str, question: Question, known: Mapping[int, int], most: int) -> tuple[int, ...]:
    """Scores of all options: those known, and lower ones (or equal to the second) for the others."""
    drawn = (
        5 * int(draw(name, question.question_id, "low", option) * (most // 5 + 1)) for option in question.rotations
    )
    return tuple(known.get(option, low) for option, low in zip(question.rotations, drawn, strict=True))


def _some_wrong(name: str, question: Question) -> list[int]:
    """The wrong options in an order of their own."""
    wrong = [option for option in question.rotations if option != question.gold]
    return sorted(wrong, key=lambda option: draw(name, question.question_id, "wrong", option))
