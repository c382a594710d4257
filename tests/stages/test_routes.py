"""What follows from the routes by which a study's models are served: its claim, its gaps, its prices."""

from __future__ import annotations

from pathlib import Path

import pytest

from stablechoice.cell_name import CellName
from stablechoice.cli import main
from stablechoice.configuration import Configuration
from stablechoice.report.extras import CellPrice
from stablechoice.stages.analyse import grid
from stablechoice.stages.cell import repeat_plans
from stablechoice.stages.pipeline import cells_pipeline
from stablechoice.stages.routes import Routes
from tests.conftest import ROOT
from tests.stages.small_run import prepared

ROUTED = """\
defaults:
  - /engine@engine: routed
  - /engine@engine.first: openai_batch
  - /engine@engine.otherwise: openai
title: Two routes
simulated: false
served_as: tiny-1
precision: undocumented
"""
PLAIN = """\
defaults:
  - /engine@engine: openrouter
title: One route
simulated: false
served_as: tiny-2
upstream: somebody
precision: undocumented
"""
PRICES = """\
date: 2099-01-01
currency: EUR
routes:
  openai/tiny-1: {prompt: 1.0, completion: 4.0}
  openai_batch/tiny-1: {prompt: 1.0, completion: 4.0, batch: 0.5}
"""
STUDY = """\
defaults:
  - /decoding@decoding: pocket
title: Small study
models: [two, one, simulated]
benchmarks: [pocket_qa]
strategies: [direct, cyclic, two_stage]
prompts: paper
embedder: minilm
resamples: 200
"""


@pytest.fixture
def routes(tmp_path: Path) -> Routes:
    root = prepared(tmp_path / "repository", STUDY)
    (root / "conf/model/two.yaml").write_text(ROUTED, encoding="utf-8")
    (root / "conf/model/one.yaml").write_text(PLAIN, encoding="utf-8")
    (root / "conf/prices/2099-01-01.yaml").write_text(PRICES, encoding="utf-8")
    return Routes(Configuration(("study=small",), root))


def cell(model: str, strategy: str) -> CellName:
    return CellName(model, "pocket_qa", strategy)


@pytest.mark.parametrize(("study", "level"), [("pocket", "re-run local"), ("paper", "re-query APIs")])
def test_a_studys_claim_follows_from_its_engines(study: str, level: str) -> None:
    configuration = Configuration((f"study={study}",), ROOT)
    assert Routes(configuration).level == grid(configuration).level == level


@pytest.mark.parametrize(
    ("address", "level", "price"),
    [
        ("http://127.0.0.1:8000/v1", "re-run local", "local model"),
        ("https://models.example.org/v1", "re-query APIs", "no price (server)"),
    ],
)
def test_a_server_on_this_machine_is_a_local_model(address: str, level: str, price: str, tmp_path: Path) -> None:
    """Nobody but its user changes what it serves; one elsewhere is a provider, whoever runs it."""
    root = prepared(tmp_path / "repository", STUDY.replace("[two, one, simulated]", "[one, simulated]"))
    text = PLAIN.replace("openrouter", "server").replace("upstream: somebody\n", "")
    (root / "conf/model/one.yaml").write_text(f"{text}engine: {{base_url: {address}}}\n", encoding="utf-8")
    routes = Routes(Configuration(("study=small",), root))
    assert routes.level == level
    assert routes.charges().missing[cell("one", "direct")] == price


def test_a_server_that_the_run_starts_is_a_local_model(tmp_path: Path) -> None:
    root = prepared(tmp_path / "repository", STUDY.replace("[two, one, simulated]", "[one, simulated]"))
    text = PLAIN.replace("openrouter", "vllm").replace("upstream: somebody\n", "")
    (root / "conf/model/one.yaml").write_text(text, encoding="utf-8")
    assert Routes(Configuration(("study=small",), root)).level == "re-run local"


def test_a_model_over_two_routes_says_which_strategies_go_by_which(routes: Routes) -> None:
    assert routes.note("two") == (
        "served over more than one route: Direct, Cyclic by openai_batch (tiny-1, batch jobs); Two-stage by openai "
        "(tiny-1). A comparison across them also compares routes."
    )
    assert (routes.note("one"), routes.note("simulated")) == ("", "")
    assert {entry.key: bool(entry.note) for entry in grid(routes.configuration).models} == {
        "two": True,
        "one": False,
        "simulated": False,
    }


def test_a_price_is_that_of_the_route_by_which_a_cell_goes_with_its_batch_discount(routes: Routes) -> None:
    charges = routes.charges()
    assert (charges.currency, charges.date) == ("EUR", "2099-01-01")
    halved = CellPrice(0.5, 2.0, "openai_batch/tiny-1", 0.5)
    assert charges.prices == {
        cell("two", "direct"): halved,
        cell("two", "cyclic"): halved,
        cell("two", "two_stage"): CellPrice(1.0, 4.0, "openai/tiny-1"),
    }


def test_a_cell_without_a_price_says_why(routes: Routes) -> None:
    missing = routes.charges().missing
    assert {missing[cell("one", strategy)] for strategy in ("direct", "cyclic", "two_stage")} == {
        "no price (openrouter)"
    }
    assert missing[cell("simulated", "cyclic")] == "simulated"


def test_a_cell_whose_steps_go_by_routes_of_different_prices_has_none(routes: Routes) -> None:
    """Two-stage's first step goes by the batch route here, its second by the other."""
    engine = routes.configuration.conf / "engine/routed.yaml"
    text = engine.read_text(encoding="utf-8").replace("[direct_mcq, ", "[free_text, direct_mcq, ")
    engine.write_text(text, encoding="utf-8")
    assert routes.charges().missing[cell("two", "two_stage")] == "routes of different prices"


def test_a_study_of_local_models_reads_no_prices(tmp_path: Path) -> None:
    """An edit of prices must not re-run the analysis of a study that pays nothing."""
    root = prepared(tmp_path / "repository")
    for file in (root / "conf/prices").iterdir():
        file.write_text("no: prices", encoding="utf-8")
    charges = Routes(Configuration(("study=small",), root)).charges()
    assert (charges.prices, charges.date, set(charges.missing.values())) == ({}, "", {"simulated"})


def test_a_strategy_that_reads_letters_is_excluded_where_the_route_gives_none(routes: Routes) -> None:
    """OpenAI's synchronous route gives log-probabilities; its batch route and OpenRouter are asked for none."""
    again = with_further(routes, "pride")
    left_out = again.excluded()
    assert left_out == {
        cell("two", "pride"): "no log-probabilities",
        cell("one", "pride"): "no log-probabilities",
        # it takes no beginning of an answer unless its file says so, as the fourth model's does
        cell("three", "pride"): "no prefill",
    }
    assert grid(again.configuration).excluded == left_out


def test_likelihood_is_excluded_on_every_hosted_route_and_nowhere_else(routes: Routes) -> None:
    left_out = with_further(routes, "likelihood").excluded()
    assert left_out == {cell(m, "likelihood"): "no likelihood of a text" for m in ("two", "one", "three", "four")}


def with_further(routes: Routes, strategy: str) -> Routes:
    """The study with another strategy, and two models of OpenAI's synchronous route."""
    conf = routes.configuration.conf
    text = PLAIN.replace("openrouter", "openai").replace("upstream: somebody\n", "")
    (conf / "model/three.yaml").write_text(text.replace("One route", "Letters"), encoding="utf-8")
    begun = text.replace("One route", "Letters, begun") + "engine: {prefill: assistant}\n"
    (conf / "model/four.yaml").write_text(begun, encoding="utf-8")
    changed = STUDY.replace("[two, one, simulated]", "[two, one, three, four, simulated]")
    (conf / "study/small.yaml").write_text(changed.replace("two_stage]", f"{strategy}]"), encoding="utf-8")
    return Routes(Configuration(("study=small",), routes.configuration.root))


def test_a_model_whose_routes_can_answer_nothing_of_a_study_is_neither_asked_nor_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A chat route tells no likelihood of an option's text; without a key, any request would fail.
    study = STUDY.replace("[two, one, simulated]", "[one, simulated]").replace(
        "[direct, cyclic, two_stage]", "[likelihood]"
    )
    study = study.replace("prompts:", "repeats: {strategies: [likelihood], repetitions: 2}\nprompts:")
    root = prepared(tmp_path / "repository", study)
    (root / "conf/model/one.yaml").write_text(PLAIN, encoding="utf-8")
    monkeypatch.setenv("STABLECHOICE_ROOT", str(root))
    monkeypatch.delenv("OPENROUTER_API_KEY", raising=False)
    assert main(["prepare", "benchmark=pocket_qa"]) == 0
    assert main(["sample", "benchmark=pocket_qa"]) == 0
    assert main(["answer", "study=small"]) == 0
    configuration = Configuration(("study=small",), root)
    assert repeat_plans(configuration, "one", "pocket_qa") == []
    assert len(repeat_plans(configuration, "simulated", "pocket_qa")) == 1
    assert cells_pipeline(configuration, "one", "pocket_qa") == {"stages": {}}
