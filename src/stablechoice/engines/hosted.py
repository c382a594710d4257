"""What engines of hosted models have in common: pace, tries, budget, and when a route is given up."""

from __future__ import annotations

import asyncio
import itertools
import random
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any

from stablechoice.engines import explanation, prices
from stablechoice.engines.budget import Budget
from stablechoice.engines.flow import Flow
from stablechoice.engines.limits import Limits
from stablechoice.engines.offer import Offer
from stablechoice.engines.pace import Pace
from stablechoice.engines.prices import Money, Price
from stablechoice.engines.retry import Failure
from stablechoice.engines.route import Route
from stablechoice.engines.secret import Secret
from stablechoice.engines.tokens import estimated_tokens
from stablechoice.errors import EngineError
from stablechoice.request import Decoding, Request, Response

Outcome = Response | Failure


class HostedEngine(ABC):
    """Asks a hosted model, many requests at once, and tries again what may be mended.

    A request that fails for good (its tries are used up, or the route refuses it) is held back at first: the run of
    failures it belongs to may be the route's fault. The next answer releases it as the request's own failure; a run
    of `failures_in_a_row` stops the engine instead, and leaves these requests unanswered for the next run.

    Args:
        route: address, key's variable and model.
        limits: how it is asked.
        served: names under which the route may report the model.

    Attributes:
        gives_letters: whether the route can give log-probabilities of letters.
        takes_prefill: whether an answer can be begun for the model.
    """

    gives_letters: bool = False
    takes_prefill: bool = False

    def __init__(self, route: Route, limits: Limits, served: Sequence[str]) -> None:
        self._route = route
        self._limits = limits
        self._served = frozenset(served)
        self._pace = Pace(limits.requests_per_minute, limits.tokens_per_minute)
        self._budget = Budget(
            f"conf/limits, or 'limits' of {route.engine_file}",
            limits.budget_requests,
            limits.budget_money,
        )
        self._draws = random.Random()  # jitter of waits; no answer depends on it
        self._secret = Secret("", "")
        self._price: Price | None = None
        self._price_date: str | None = None
        self._currency = ""
        self._proven = False
        self._counts: Counter[str] = Counter()
        self._retried: Counter[str] = Counter()
        self._reported: Counter[tuple[str, str]] = Counter()

    @abstractmethod
    def identity(self) -> Mapping[str, Any]: ...

    @abstractmethod
    def check(self, requests: Sequence[Request], decoding: Decoding) -> None:
        """Refuse what the route cannot do, before anything is sent.

        Raises:
            EngineError: names the key that says so.
        """

    @abstractmethod
    def opened(self, secret: Secret) -> AbstractAsyncContextManager[Any]:
        """The SDK's client."""

    @abstractmethod
    async def send(self, client: Any, request: Request, decoding: Decoding) -> Outcome:
        """One try of one request."""

    def answer(self, requests: Sequence[Request], decoding: Decoding) -> Iterator[tuple[int, Response]]:
        """Answer all requests, as they come back.

        Raises:
            EngineError: the route cannot do what is asked; the key, the model's name or the account is refused; the
                route failed too often in a row; another model or provider than the pinned one served it; or the
                budget is used up.
        """
        self.check(requests, decoding)
        if not requests:
            return
        self._prepare()
        flow: Flow[Any, Outcome] = Flow(
            lambda: self.opened(self._secret),
            lambda client, index: self._ask(flow, client, requests[index], decoding),
            len(requests),
            self._limits.concurrency,
        )
        held: list[tuple[int, Failure]] = []
        for index, outcome in flow.results():
            if isinstance(outcome, Failure):
                held.append((index, outcome))
                if len(held) >= self._limits.failures_in_a_row:
                    flow.stop()
                continue
            if outcome.status != "request_failed" and not flow.stopping:
                self._proven = True
                yield from self._released(held)
            yield index, outcome
        if len(held) < self._limits.failures_in_a_row and (self._proven or self._limits.settle_unproven):
            yield from self._released(held)
        if held:
            raise EngineError(self._given_up([failure for _, failure in held]))

    def facts(self) -> Mapping[str, Any]:
        """What was really used, and by whom it was served."""
        budget = self._budget
        return {
            "route": self._route.name,
            "base_url": self._route.base_url,
            "served_as": self._route.served_as,
            "tries": budget.sent,
            **dict(sorted(self._counts.items())),
            "tries_again": dict(sorted(self._retried.items())),
            "served": [
                {"model": model, "provider": provider, "answers": number}
                for (model, provider), number in sorted(self._reported.items())
            ],
            "money": round(budget.spent, 6) if self._price is not None else None,
            "money_is_worst_case_for": budget.unpriced,
            "prices_of": self._price_date,
            "seconds_held_back": round(self._pace.waited, 3),
        }

    def offer(self, request: Request) -> Offer:  # noqa: ARG002 - one route takes all
        """The route that a request would take."""
        route = self._route
        can = {"letters": self.gives_letters, "prefill": self.takes_prefill}
        return Offer(route.name, route.served_as, batch=False, limits=self._limits, **can)

    def spent(self) -> Money | None:
        """What the requests have cost so far; None where the route has no price, or nothing was asked yet."""
        return None if self._price is None else Money(self._budget.spent, self._currency)

    def close(self) -> None:  # noqa: B027 - part of what every engine is
        """Connections end with each `answer`; nothing is held open."""

    def _prepare(self) -> None:
        self._secret = self._route.secret()
        newest = prices.newest(self._route.root / "conf" / "prices")
        if newest is not None:
            listed = prices.read_prices(newest)
            self._price, self._price_date = listed.find(self._route.name, self._route.served_as), listed.date
            self._currency = listed.currency
        if self._limits.budget_money is not None and self._price is None:
            raise EngineError(
                f"conf/prices: no price of '{self._route.name}/{self._route.served_as}', so 'budget_money' cannot be "
                "kept: add it to the newest price file with its source, or set budget_requests instead"
            )

    async def _ask(self, flow: Flow[Any, Outcome], client: Any, request: Request, decoding: Decoding) -> Outcome:
        """One request to its end: an answer, a refusal, or the last of its failures."""
        backoff = self._limits.backoff
        for tried in itertools.count(1):
            outcome = await self._try(flow, client, request, decoding)
            if isinstance(outcome, Response) or outcome.kind == "request":
                return outcome
            if outcome.kind != "again":
                raise EngineError(explanation.refused(self._route, outcome))
            if outcome.wait is not None and outcome.wait > backoff.patience:
                raise EngineError(explanation.asks_to_wait(self._route, outcome))
            if tried >= backoff.attempts or flow.stopping:
                break
            self._retried[outcome.detail.split(":", 1)[0]] += 1
            if outcome.wait is not None:
                self._pace.hold(outcome.wait)
            if not await flow.pause(backoff.seconds(tried, outcome.wait, self._draws.random())):
                break
        return outcome

    async def _try(self, flow: Flow[Any, Outcome], client: Any, request: Request, decoding: Decoding) -> Outcome:
        """One try, within pace and budget."""
        prompt = estimated_tokens(request)
        allowed = 1 if request.letters else decoding.max_new_tokens
        worst = self._price.of(prompt, allowed) if self._price is not None else 0.0
        await self._pace.turn(prompt + allowed, flow.pause, lambda: flow.stopping)
        if flow.stopping:
            return Failure("again", explanation.STOPPED)
        await self._budget.reserve(worst)
        used: float | None = None  # the worst case also where this try is cancelled
        try:
            outcome = self._clean(await self._sent(client, request, decoding))
            used = self._money(outcome)
        finally:
            self._budget.settle(worst, used)
        if isinstance(outcome, Response) and outcome.prompt_tokens is not None:
            self._pace.settle(prompt + allowed, outcome.prompt_tokens + (outcome.completion_tokens or 0))
        return self._counted(outcome) if isinstance(outcome, Response) else outcome

    async def _sent(self, client: Any, request: Request, decoding: Decoding) -> Outcome:
        """One try, ended at the time limit: the transport's own begins anew with every byte that trickles in."""
        try:
            async with asyncio.timeout(self._limits.timeout_seconds):
                return await self.send(client, request, decoding)
        except TimeoutError:
            return Failure("again", explanation.TOO_SLOW, unsure=True)

    def _money(self, outcome: Outcome) -> float | None:
        """What a try cost; None where that is not known."""
        if isinstance(outcome, Failure):
            return None if outcome.unsure else 0.0
        if self._price is None or outcome.status == "request_failed":
            return 0.0
        return self._price.of_response(outcome)

    def _counted(self, response: Response) -> Response:
        """The response, once it is sure that the pinned model and provider served it."""
        model, provider = response.served_model, response.served_provider
        # A refusal that came instead of an answer was written by no model, so it names none.
        answered = response.status == "ok" or (response.status != "request_failed" and (model or provider) is not None)
        if answered and model is not None and model not in self._served:
            raise EngineError(
                f"route {self._route.name} answered with model {model!r} instead of {self._route.served_as!r}: mend "
                f"'served_as' of {self._route.model_file}, or list the name in its 'reports_as' if it is the same model"
            )
        if answered:
            self.check_provider(provider)
        self._counts[f"status_{response.status}"] += 1
        self._counts["prompt_tokens"] += response.prompt_tokens or 0
        self._counts["completion_tokens"] += response.completion_tokens or 0
        self._counts["cached_tokens"] += response.cached_tokens or 0
        self._reported[model or "", provider or ""] += 1
        return response

    def check_provider(self, provider: str | None) -> None:  # noqa: B027 - most routes have no upstream to check
        """Refuse an answer that another upstream provider served than the pinned one.

        Raises:
            EngineError: it did.
        """

    def _clean(self, outcome: Outcome) -> Outcome:
        """The outcome without the key, wherever a provider may have echoed it."""
        secret = self._secret
        if isinstance(outcome, Failure):
            return replace(outcome, detail=secret.redact_error(outcome.detail))
        text, detail = secret.redact(outcome.text), secret.redact_error(outcome.detail)
        names = [None if one is None else secret.redact(one) for one in (outcome.served_model, outcome.served_provider)]
        before = (outcome.text, outcome.detail, outcome.served_model, outcome.served_provider)
        if before == (text, detail, *names):
            return outcome
        return replace(outcome, text=text, detail=detail, served_model=names[0], served_provider=names[1])

    def _released(self, held: list[tuple[int, Failure]]) -> Iterator[tuple[int, Response]]:
        while held:
            index, failure = held.pop(0)
            self._counts["status_request_failed"] += 1
            yield index, failure.response()

    def _given_up(self, failures: Sequence[Failure]) -> str:
        return explanation.given_up(self._route, failures, proven=self._proven, limits=self._budget.where)
