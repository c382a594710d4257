"""Matched and dashed: options behind dashes, the whole text of one as the answer, matched by similarity ([N])."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from stablechoice.errors import ConfigError
from stablechoice.observation import Match, Order, Reading
from stablechoice.prompts import Prompts
from stablechoice.questions.question import Question
from stablechoice.reading.dashed import compared, read_dashed
from stablechoice.reading.similarity import EMBEDDED, MEASURES, Embedder, Measure, Similarity
from stablechoice.request import Response
from stablechoice.strategies.demonstrations import Showing
from stablechoice.strategies.recorded import answers_by_rotation, canonical_outcome
from stablechoice.strategies.settings import check_choice
from stablechoice.strategies.strategy import Answers, Asking, Outcome, Reader


@dataclass(frozen=True, slots=True)
class MatchedAndDashed:
    """Matched-and-dashed (PROTOCOL 3): no labels to copy; the answer's text is extracted and matched.

    Attributes:
        title: name in tables.
        prompt: template that shows demonstrations, question and options.
        demonstration: template of one solved question; None without demonstrations.
        shots: number of demonstrations.
        golds: their spread over positions, see `spread.Spread`.
        seed: of demonstrations.
        similarity: how an answer string is compared with the options, one of `similarity.MEASURES`.
        ablation: files of `conf/embedder` that are tried with every embedded measure on the same recorded answers, and
            the baselines beside them. Empty: no ablation.
        shares: key of the strategy whose recorded answers it reads; None asks for itself.

    Raises:
        ConfigError: an unknown similarity or spread, or values that do not go together.
    """

    title: str
    prompt: str
    demonstration: str | None
    shots: int
    golds: str
    seed: int
    similarity: str
    ablation: Sequence[str] = ()
    shares: str | None = None

    def __post_init__(self) -> None:
        check_choice(self.title, "similarity", self.similarity, MEASURES)
        if isinstance(self.ablation, str) or not all(isinstance(name, str) for name in self.ablation):
            raise ConfigError(
                f"strategy {self.title!r} (conf/strategy): ablation is {self.ablation!r}; give a list of files of "
                "conf/embedder, [] for none"
            )
        _ = self.showing

    @property
    def showing(self) -> Showing:
        """How it shows a question."""
        return Showing.of(self.title, self.prompt, self.demonstration, "dashes", self.shots, self.golds, self.seed)

    @property
    def order(self) -> Order:
        """The options were shown in an order: flip and RStd come from all rotations."""
        return "rotations"

    @property
    def embedders(self) -> tuple[str, ...]:
        """Files of `conf/embedder` that the ablation wants."""
        return tuple(self.ablation)

    def ask(self, question: Question, prompts: Prompts, *, order: bool = True) -> Asking:
        """The canonical order to answer, every other rotation to measure order sensitivity.

        Raises:
            ConfigError: it shows demonstrations and is not bound to questions, see `demonstrations.bound`.
        """
        yield self.showing.requests(question, prompts, None, order=order)

    def read(self, question: Question, answers: Answers, reader: Reader) -> Outcome:
        """The option that the answer of rotation 0 is matched to.

        Raises:
            PlanError: rotation 0 was not recorded.
            ConfigError: the similarity needs vectors, which the study's embedder does not give.
        """
        measure = cast(Measure, self.similarity)
        if measure in ("dot", "euclidean") and not isinstance(reader.similarity, Embedder):
            raise ConfigError(
                f"strategy {self.title!r} (conf/strategy): similarity is {measure!r}, and the study's embedder gives "
                "cosines only; choose cosine, or another file of conf/embedder"
            )
        responses = answers_by_rotation(question, answers, self.prompt)
        readings = self._readings(question, responses, reader, measure, reader.similarity)
        return replace(canonical_outcome(readings), matches=self._matches(question, responses, reader))

    def _readings(
        self,
        question: Question,
        responses: Mapping[int, Response],
        reader: Reader,
        measure: Measure,
        embedder: Similarity,
    ) -> tuple[Reading, ...]:
        return tuple(
            read_dashed(
                response,
                question,
                rotation,
                measure=measure,
                embedder=embedder,
                benchmark=reader.benchmark,
                seed=reader.seed,
            )
            for rotation, response in responses.items()
        )

    def _matches(self, question: Question, responses: Mapping[int, Response], reader: Reader) -> tuple[Match, ...]:
        """What every matcher of the ablation reads in the same answers."""
        if not self.ablation:
            return ()
        found = []
        for name in self.ablation:
            embedder = reader.embedders.get(name, "not asked for")
            for measure in EMBEDDED:
                if isinstance(embedder, str):
                    found.append(Match(name, measure, (), embedder))
                elif measure != "cosine" and not isinstance(embedder, Embedder):
                    found.append(Match(name, measure, (), "gives cosines only"))
                else:
                    found.append(self._match(question, responses, reader, name, measure, embedder))
        plain = [measure for measure in MEASURES if measure not in EMBEDDED]
        return (*found, *(self._match(question, responses, reader, "", one, reader.similarity) for one in plain))

    def _match(
        self,
        question: Question,
        responses: Mapping[int, Response],
        reader: Reader,
        name: str,
        measure: Measure,
        embedder: Similarity,
    ) -> Match:
        readings = self._readings(question, responses, reader, measure, embedder)
        return Match(name, measure, tuple(reading.choice for reading in readings))

    def texts(self, question: Question, answers: Answers) -> list[str]:
        """Answer strings and options, where no option's whole text decides."""
        if self.similarity not in EMBEDDED and not self.ablation:
            return []
        return compared(answers_by_rotation(question, answers, self.prompt).values(), question)
