"""What a study will ask, cost and take, before a single request is sent."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from stablechoice.cell_plan import CellPlan, Lookup
from stablechoice.engines.engine import Engine
from stablechoice.engines.offer import Offer, Offering
from stablechoice.engines.prices import Price, Prices
from stablechoice.engines.tokens import CHARACTERS_A_TOKEN, estimated_tokens
from stablechoice.questions.question import Question
from stablechoice.request import Request, Response
from stablechoice.strategies.sharing import asked

ANSWER_TOKENS = {
    "direct_mcq": 2,
    "option_matching": 2,
    "option_matching_v3": 2,
    "free_text": 15,
    "free_text_v2": 25,
    "text_extraction": 20,
    "labelled": 2,
    "dashed": 60,
    "option_verification": 2,
    "answer_matching": 2,
    "independent_hypothesis": 200,
    "reasoning/direct_mcq": 200,
    "reasoning/free_text": 200,
}
"""Completion tokens assumed for an answer to each template: a letter, a short text, or a brief reasoning."""

_OTHER_TOKENS = 200
_WAIT_SECONDS = 0.8  # assumed before an answer begins
_TOKENS_A_SECOND = 60.0  # assumed while it is written


@dataclass(slots=True)
class Line:
    """One model on one route.

    Attributes:
        requests: distinct requests; what cells share is counted once.
        prompt, completion: tokens by the stated rules (`engines.tokens`, `ANSWER_TOKENS`).
        longest: completion tokens if every answer ran to the token cap.
        left: the same of what no recorded answer is known for; its own `left` is None.
    """

    model: str
    offer: Offer | None
    price: Price | None
    requests: int = 0
    prompt: int = 0
    completion: int = 0
    longest: int = 0
    left: Line | None = None

    def add(self, request: Request, cap: int) -> None:
        """Count a request.

        Args:
            cap: completion tokens that an answer may have.
        """
        most = 1 if request.wants_probabilities else cap
        self.requests += 1
        self.prompt += estimated_tokens(request)
        self.completion += min(_answer_tokens(request), most)
        self.longest += most

    @property
    def money(self) -> float | None:
        """What it will cost by the stated rules; None without a price."""
        return self._money(self.completion)

    @property
    def most(self) -> float | None:
        """What it will cost if every answer runs to the token cap; None without a price."""
        return self._money(self.longest)

    @property
    def hours(self) -> float | None:
        """At the configured limits; None for jobs (within 24 hours each) and for local models."""
        if self.offer is None or self.offer.batch:
            return None
        limits = self.offer.limits
        waiting = self.requests * _WAIT_SECONDS + self.completion / _TOKENS_A_SECOND
        minutes = [waiting / limits.concurrency / 60]
        if limits.requests_per_minute is not None:
            minutes.append(self.requests / limits.requests_per_minute)
        if limits.tokens_per_minute is not None:
            minutes.append((self.prompt + self.completion) / limits.tokens_per_minute)
        return max(minutes) / 60

    def _money(self, completion: int) -> float | None:
        if self.price is None or self.offer is None:
            return None
        return self.price.of(self.prompt, completion, batch=self.offer.batch)


def estimate(
    cells: Iterable[CellPlan],
    engine: Engine,
    prices: Prices | None,
    others: Mapping[str, Engine] | None = None,
    recorded: Lookup | None = None,
) -> list[Line]:
    """Every distinct request of one model's cells, by route, and how many of them are still to be asked.

    The whole is of answers as the stated rules have them, so that it is the same before a run and after it. What is
    left follows the recorded answers as far as they carry, and the rules from there on.

    Args:
        cells: those that ask (a derived strategy's cell asks nothing of its own).
        others: engines of the models that requests name besides the cells' own.
        recorded: recorded answers by key; where None, nothing counts as answered.
    """
    lines: dict[tuple[str, str, str], Line] = {}
    seen: set[tuple[object, ...]] = set()
    left: set[tuple[object, ...]] = set()
    for cell in cells:
        for request, whole in _requests(cell, recorded):
            wanted = (request.prefill, request.letters, request.continuation)
            content = (request.model, request.prompt, *wanted, request.address.repetition)
            known = seen if whole else left
            if content in known:
                continue
            known.add(content)
            asked_engine = engine if request.model is None else (others or {})[request.model]
            offer = asked_engine.offer(request) if isinstance(asked_engine, Offering) else None
            route = (offer.route, offer.served_as) if offer else ("", "")
            at = (request.model or cell.name.model, *route)
            if at not in lines:
                price = prices.find(*route) if prices is not None else None
                lines[at] = Line(at[0], offer, price, left=Line(at[0], offer, price))
            line = lines[at] if whole else lines[at].left
            assert line is not None
            line.add(request, cell.decoding.max_new_tokens)
    return [lines[at] for at in sorted(lines)]


def _requests(cell: CellPlan, recorded: Lookup | None) -> Iterator[tuple[Request, bool]]:
    """Every request of a cell with True, and with False what is still to be asked."""
    for question in cell.questions:
        for repetition in cell.repetitions:
            order = cell.order and repetition == 0
            made = asked(cell.strategy, question, cell.prompts, _stand_in, order=order)
            whole = [request.repeated(repetition) if repetition else request for request in made]
            yield from ((request, True) for request in whole)
            if recorded is None:
                yield from ((request, False) for request in whole)
                continue
            likely = [cell.key(request) for request in whole]
            found = recorded(likely)
            left = _left(cell, question, repetition, recorded, likely, found) if found else whole
            yield from ((request, False) for request in left)


def _left(
    cell: CellPlan,
    question: Question,
    repetition: int,
    recorded: Lookup,
    likely: Sequence[str],
    known: Mapping[str, Response],
) -> list[Request]:
    """What of a question has no recorded answer; later requests quote answers, so that their keys show only now.

    Args:
        likely, known: keys that were looked up already, and what is recorded of them.
    """
    found, looked_up = dict(known), set(likely)
    lacking: dict[str, Request] = {}

    def answer(request: Request) -> Response:
        again = request.repeated(repetition) if repetition else request
        key = cell.key(again)
        if key not in looked_up:
            looked_up.add(key)
            found.update(recorded([key]))
        if key in found:
            return found[key]
        lacking[key] = again
        return _stand_in(request)

    asked(cell.strategy, question, cell.prompts, answer, order=cell.order and repetition == 0)
    return list(lacking.values())


def _answer_tokens(request: Request) -> int:
    return 1 if request.wants_probabilities else ANSWER_TOKENS.get(request.address.step, _OTHER_TOKENS)


def _stand_in(request: Request) -> Response:
    """An answer as long as the rule says, so that a second stage's prompt has its length; it ends on an answer line."""
    length = round(_answer_tokens(request) * CHARACTERS_A_TOKEN)
    words = ("a word " * math.ceil(length / 7))[:length].rstrip() or "a"
    return Response(f"{words}\nAnswer: {words[-60:]}" if request.address.step.startswith("reasoning/") else words)


def shown(lines: Sequence[Line], prices: Prices | None) -> str:
    """The estimate as a table, with the rules that it rests on; what is left has columns once something is recorded."""
    whole = ("model", "route", "requests", "prompt tokens", "completion", "money", "at most", "hours")
    rows = [(*whole, "to ask", "to pay"), *(_row(line) for line in lines), _total(lines)]
    partly = any(_still(line).requests != line.requests for line in lines)
    if not partly:
        rows = [row[: len(whole)] for row in rows]
    widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
    table = [_aligned(row, widths) for row in rows]
    dated = f"prices of {prices.date} in {prices.currency}" if prices is not None else "no price file in conf/prices"
    rules = (
        f"{dated}; prompt tokens by the rule of {CHARACTERS_A_TOKEN} characters a token, completion tokens as assumed "
        "for each template; at most: every answer runs to the token cap; batch: results within 24 hours a job"
    )
    if partly:
        rules += "; to ask, to pay: what is left of the whole, where no recorded answer is known"
    return "\n".join([*(row.rstrip() for row in table), rules, ""])


def _aligned(row: Sequence[str], widths: Sequence[int]) -> str:
    """Names to the left, numbers to the right."""
    cells = [one.ljust(widths[n]) if n < 2 else one.rjust(widths[n]) for n, one in enumerate(row)]
    return "  ".join(cells)


def _row(line: Line) -> tuple[str, ...]:
    offer = line.offer
    hours = "batch" if offer is not None and offer.batch else "-" if line.hours is None else f"{line.hours:.1f}"
    return (
        line.model,
        offer.route if offer is not None else "this machine",
        f"{line.requests:,}",
        f"{line.prompt:,}",
        f"{line.completion:,}",
        _amount(line.money, offer),
        _amount(line.most, offer),
        hours,
        f"{_still(line).requests:,}",
        _amount(_still(line).money, offer),
    )


def _still(line: Line) -> Line:
    return line if line.left is None else line.left


def _total(lines: Sequence[Line]) -> tuple[str, ...]:
    still = [_still(line) for line in lines]
    money, most = ([one for line in lines if (one := getattr(line, key)) is not None] for key in ("money", "most"))
    open_ones = any(line.offer is not None and not line.offer.own and line.price is None for line in lines)
    more = " + ?" if open_ones else ""
    return (
        "all",
        "",
        f"{sum(line.requests for line in lines):,}",
        f"{sum(line.prompt for line in lines):,}",
        f"{sum(line.completion for line in lines):,}",
        f"{sum(money):.2f}{more}",
        f"{sum(most):.2f}{more}",
        "",
        f"{sum(line.requests for line in still):,}",
        f"{sum(line.money or 0.0 for line in still):.2f}{more}",
    )


def _amount(money: float | None, offer: Offer | None) -> str:
    if money is not None:
        return f"{money:.2f}"
    return "-" if offer is None or offer.own else "no price"
