"""Which requests a strategy makes, and which of them another strategy's cell already holds."""

from __future__ import annotations

from collections.abc import Callable

from stablechoice.prompts import Prompts
from stablechoice.questions.question import Question
from stablechoice.request import Request, Response
from stablechoice.strategies.demonstrations import demonstrates, stand_in
from stablechoice.strategies.strategy import Calibrated, Strategy


def asked(
    strategy: Strategy,
    question: Question,
    prompts: Prompts,
    answer: Callable[[Request], Response],
    *,
    order: bool = True,
) -> list[Request]:
    """Every request of one question in the order asked, each answered by `answer`."""
    made: list[Request] = []
    asking = strategy.ask(question, prompts, order=order)
    try:
        wanted = next(asking)
        while True:
            requests = wanted if isinstance(wanted, list) else [wanted]
            made.extend(requests)
            responses = [answer(request) for request in requests]
            wanted = asking.send(responses if isinstance(wanted, list) else responses[0])
    except StopIteration:
        return made


# Any question will do: whether requests are shared does not depend on what is asked.
_PROBE = Question("0" * 16, "probe", "Which of these is first?", ("one", "two", "three", "four"), 0)


def is_derived(strategy: Strategy, shared: Strategy | None, prompts: Prompts) -> bool:
    """Whether a strategy asks nothing that the strategy it shares with does not ask (PROTOCOL 3, sharing).

    A derived strategy (Direct, Hidden+Semantic) has no generations of its own.
    """
    if shared is None or (isinstance(strategy, Calibrated) and strategy.asks_further):
        return False

    def content(one: Strategy) -> set[tuple[object, ...]]:
        made = asked(stand_in(one, _PROBE), _PROBE, prompts, lambda _: Response("Answer: two\n"))
        return {(r.prompt, r.prefill, r.letters, r.continuation, r.model) for r in made}

    return content(strategy) <= content(shared)


def draws_further(strategy: Strategy) -> bool:
    """Whether a strategy needs questions that its cell does not observe: to learn from, or to show as solved."""
    return demonstrates(strategy) or (isinstance(strategy, Calibrated) and strategy.asks_further)
