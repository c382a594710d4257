"""Letter probabilities averaged over the orders in which the options were shown: cyclic, or full permutation ([Z])."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from stablechoice.errors import ConfigError
from stablechoice.observation import Order
from stablechoice.prompts import Prompts
from stablechoice.questions.question import Question
from stablechoice.reading.letter_probabilities import mean_by_option
from stablechoice.strategies.letters import ask_letters, decided, distributions, likeliest_option
from stablechoice.strategies.permutation import Permutation, all_orders, rotations, sampled_orders
from stablechoice.strategies.recorded import required_answer
from stablechoice.strategies.settings import check_choice
from stablechoice.strategies.strategy import Answers, Asking, Outcome, Reader

ORDERS = ("rotations", "permutations")


@dataclass(frozen=True, slots=True)
class Averaged:
    """Cyclic with averaged probabilities, and full permutation ([Z] section 3; PROTOCOL 3): the option whose content is
    likeliest on the mean over all orders.

    Attributes:
        title: name in tables.
        prompt: template that shows the options and asks for the letter.
        orders: `rotations` (n requests), or `permutations`: all n!, beyond `most_options` a sample of them.
        prefill: what the answer begins with, so that a letter comes next.
        most_options: options up to which all permutations are asked.
        turns, seed: beyond that, how many turns of n orders each (the rotations of one drawn order), and the draw's
            seed.
        shares: strategy whose recorded answers hold some of these requests; None asks for all.

    Raises:
        ConfigError: a value that is not allowed.
    """

    title: str
    prompt: str
    orders: Literal["rotations", "permutations"]
    prefill: str
    most_options: int = 4
    turns: int = 6
    seed: int = 42
    shares: str | None = None

    def __post_init__(self) -> None:
        check_choice(self.title, "orders", self.orders, ORDERS)
        for key, least in (("most_options", 1), ("turns", 1), ("seed", 0)):
            value = getattr(self, key)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                where = f"strategy {self.title!r} (conf/strategy)"
                raise ConfigError(f"{where}: {key} is {value!r}; give a whole number of at least {least}")

    @property
    def order(self) -> Order:
        """One averaged answer a question has no other order to be compared with."""
        return "undefined"

    @property
    def method(self) -> str:
        """Method word of the canonical tie-break."""
        return "cyclic_averaged" if self.orders == "rotations" else "full_permutation"

    def permutations(self, question: Question) -> tuple[Permutation, ...]:
        """The orders in which a question is shown; the first n are its rotations."""
        count = len(question.options)
        if self.orders == "rotations":
            return rotations(count)
        return all_orders(count) if count <= self.most_options else sampled_orders(count, self.turns, self.seed)

    def ask(self, question: Question, prompts: Prompts, *, order: bool = True) -> Asking:  # noqa: ARG002
        """One request an order. The mean needs every one, so `order` changes nothing."""
        yield [
            ask_letters(prompts, self.prompt, question, number, shown, "answer", self.prefill)
            for number, shown in enumerate(self.permutations(question))
        ]

    def read(self, question: Question, answers: Answers, reader: Reader) -> Outcome:
        """The option with the largest mean probability; unscored where an order has none.

        A mean over some of the orders would bring back the bias for letters that all of them together take out. Each
        rotation is also read by itself, as the letter that was likeliest there.

        Raises:
            PlanError: an order was not recorded.
        """
        orders = self.permutations(question)
        responses = {number: required_answer(question, answers, self.prompt, number) for number in range(len(orders))}
        found, unread = distributions(question, responses)
        readings = []
        for rotation in question.rotations:
            reading = unread[rotation]
            if rotation in found:
                choice, tied = likeliest_option(found[rotation], orders[rotation], question, reader, self.method)
                reading = decided(reading, choice, "letter_probability", tied)
            readings.append(reading)
        failed = [unread[number].reason for number in sorted(unread) if number not in found]
        if failed:
            return Outcome(None, failed[0], "", tuple(readings))
        values = mean_by_option([found[number] for number in range(len(orders))], orders)
        choice, tied = likeliest_option(values, rotations(len(values))[0], question, reader, self.method)
        return Outcome(choice, None, "mean_probability", tuple(readings), tied=tied if len(tied) > 1 else ())

    def texts(self, question: Question, answers: Answers) -> list[str]:  # noqa: ARG002
        """None: letters are read without similarity."""
        return []
