"""Every file of conf/ composes and builds; a mistake is one sentence with the file, the key and what is allowed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from stablechoice.cell_name import CellName
from stablechoice.configuration import Configuration, choices
from stablechoice.errors import ConfigError, OpenError
from stablechoice.stages.pipeline import pipelines

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A repository root with a conf/ of its own to break."""
    shutil.copytree(ROOT / "conf", tmp_path / "conf")
    return tmp_path


def replace(root: Path, file: str, old: str, new: str) -> None:
    path = root / "conf" / file
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def fill_in(root: Path) -> None:
    """Give every open revision and hash of a model or benchmark a value, as a person would."""
    for path in [*(root / "conf" / "model").glob("*.yaml"), *(root / "conf" / "benchmark").glob("*.yaml")]:
        text = path.read_text(encoding="utf-8").replace("revision: ???", f"revision: {'a1' * 20}")
        text = text.replace('revision: "???"', f"revision: {'a1' * 20}").replace('"???"', "c0" * 32)
        path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize("key", choices(ROOT / "conf", "study"))
def test_every_study_composes_with_all_that_it_names(key: str, copy: Path) -> None:
    fill_in(copy)
    assert Configuration((f"study={key}",), copy).checked().cells


def test_a_study_with_an_open_value_is_refused_and_has_no_pipeline_until_it_is_filled_in(copy: Path) -> None:
    words = r"conf/model/llama-3\.1-8b-fp8\.yaml: key 'revision' is open \(\?\?\?\); fill in its value before this runs"
    with pytest.raises(OpenError, match=words):
        Configuration(("study=paper-local",), copy).checked()
    with pytest.raises(OpenError, match=words):
        pipelines(copy, "paper-local")
    expected = copy / "data" / "paper-local" / "dvc.yaml"
    assert expected not in pipelines(copy)
    fill_in(copy)
    assert expected in pipelines(copy)


@pytest.mark.parametrize("key", choices(ROOT / "conf", "strategy"))
def test_every_strategy_builds(key: str) -> None:
    assert Configuration(root=ROOT).strategy(key).title


@pytest.mark.parametrize("key", choices(ROOT / "conf", "benchmark"))
def test_every_benchmark_builds(key: str, copy: Path) -> None:
    fill_in(copy)
    assert Configuration(root=copy).benchmark(key).manifest


def test_a_benchmark_with_an_open_value_is_refused_and_has_no_stages_until_it_is_filled_in(copy: Path) -> None:
    words = (
        r"conf/benchmark/mmlu_pro\.yaml: key 'hub\.revision' is open \(\?\?\?\); fill in its value before this runs "
        r"\(Rows on the hub; fill in the full commit, 40 hex digits .* there, or drop this line for a file\)"
    )
    with pytest.raises(OpenError, match=words):
        Configuration(root=copy).benchmark("mmlu_pro")
    file = copy / "data" / "benchmarks" / "dvc.yaml"
    assert "prepare-mmlu_pro:" not in pipelines(copy)[file]
    fill_in(copy)
    assert "prepare-mmlu_pro:" in pipelines(copy)[file]


@pytest.mark.parametrize("key", choices(ROOT / "conf", "embedder"))
def test_every_embedder_builds_or_says_what_is_open(key: str) -> None:
    configuration = Configuration((f"study.embedder={key}",), ROOT)
    if key == "qwen3-embedding-0.6b":
        with pytest.raises(OpenError, match=r"conf/embedder/qwen3-embedding-0\.6b\.yaml: key 'revision' is open"):
            configuration.similarity()
    else:
        assert configuration.similarity()


@pytest.mark.parametrize("key", choices(ROOT / "conf", "model"))
def test_every_model_builds_and_tells_its_identity_without_loading(key: str, copy: Path) -> None:
    fill_in(copy)
    assert Configuration(root=copy).model(key).engine.identity()


@pytest.mark.parametrize("path", sorted((ROOT / "conf").rglob("*.yaml")), ids=lambda p: str(p.relative_to(ROOT)))
def test_every_file_is_short_and_commented(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert any(line.lstrip().startswith("#") for line in lines)
    assert len(lines) <= 30


@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        (
            "strategy/two_stage.yaml",
            "matcher:",
            "macher:",
            ["conf/strategy/two_stage.yaml", "'macher'", "Did you mean 'matcher'"],
        ),
        ("study/pocket.yaml", "resamples:", "resample:", ["conf/study/pocket.yaml", "'resample'", "resamples"]),
        (
            "study/pocket.yaml",
            "resamples: 10000",
            "resamples: 0",
            ["conf/study/pocket.yaml", "'resamples'", "at least 100"],
        ),
        ("study/pocket.yaml", "resamples: 10000", "resamples: ???", ["conf/study/pocket.yaml", "'resamples'", "???"]),
        (
            "study/pocket.yaml",
            "pocket_qa, nonsense_qa",
            "poket_qa",
            ["conf/study/pocket.yaml", "'poket_qa'", "Did you mean 'pocket_qa'"],
        ),
        ("study/pocket.yaml", "pocket_qa, nonsense_qa", "", ["conf/study/pocket.yaml", "'benchmarks'", "at least one"]),
        ("study/pocket.yaml", "pocket_qa, nonsense_qa", "pocket_qa, pocket_qa", ["conf/study/pocket.yaml", "twice"]),
        (
            "decoding/pocket.yaml",
            "max_new_tokens: 32",
            "max_new_tokens: 0",
            ["conf/decoding/pocket.yaml", "'max_new_tokens'"],
        ),
        ("decoding/pocket.yaml", "seed: 42", "sed: 42", ["conf/decoding/pocket.yaml", "'sed'", "seed"]),
        ("study/pocket.yaml", "/decoding@decoding: pocket", "/decoding@decoding: poket", ["decoding/poket"]),
        (
            "study/pocket.yaml",
            "defaults:\n  - /decoding@decoding: pocket\n",
            "",
            ["conf/study/pocket.yaml", "`- /decoding@decoding: NAME`", "It has: abcd, paper, paper-v1, pocket"],
        ),
    ],
)
def test_a_mistake_in_a_file_is_named_with_file_key_and_what_is_allowed(
    copy: Path, file: str, old: str, new: str, words: list[str]
) -> None:
    replace(copy, file, old, new)
    with pytest.raises(ConfigError) as error:
        Configuration(("study=pocket",), copy).checked()
    for word in words:
        assert word in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("file", "content", "words"),
    [
        ("prompt/paper/direct_mcq.txt", "{questoin}\n{options}", ["direct_mcq.txt", "'{questoin}' is no placeholder"]),
        ("prompt/paper/direct_mcq.txt", "{question}", ["direct_mcq.txt", "{options} is missing"]),
        ("prompt/paper/independent_hypothesis.txt", "", ["independent_hypothesis.txt", "{question} is missing"]),
        (
            "prompt/paper/free_text.txt",
            "{question!r} {question}",
            ["free_text.txt", "'{question!r}' is no placeholder"],
        ),
        ("prompt/paper/free_text.txt", "{question} {", ["free_text.txt", "'{' is no placeholder"]),
        ("decoding/pocket.yaml", "temperature: .nan\nmax_new_tokens: 5\nseed: 1\n", ["decoding/pocket.yaml", "number"]),
        ("embedder/minilm.yaml", "bogus: 3\n", ["conf/embedder/minilm.yaml", "_target_"]),
        ("strategy/cyclic.yaml", "[1, 2]\n", ["conf/strategy/cyclic.yaml"]),
        (
            "strategy/cyclic.yaml",
            "_target_: stablechoice.engines.secret.quote\ntext: x\n",
            ["conf/strategy/cyclic.yaml", "'stablechoice.engines.secret.quote' is no class"],
        ),
        (
            "strategy/cyclic.yaml",
            "_target_: stablechoice.engines.secret.Secret\nvariable: x\nvalue: y\n",
            ["conf/strategy/cyclic.yaml", "stablechoice.engines.secret.Secret"],
        ),
    ],
)
def test_a_spoilt_file_is_refused_before_anything_is_asked(
    copy: Path, file: str, content: str, words: list[str]
) -> None:
    (copy / "conf" / file).write_text(content, encoding="utf-8")
    with pytest.raises(ConfigError) as error:
        Configuration(("study=pocket",), copy).checked()
    for word in words:
        assert word in str(error.value)


def test_text_that_is_no_utf8_is_refused_in_a_sentence(copy: Path) -> None:
    (copy / "conf/prompt/paper/free_text.txt").write_bytes("{question}".encode("utf-16"))
    with pytest.raises(ConfigError, match=r"free_text\.txt: is no UTF-8 text"):
        Configuration(("study=pocket",), copy).checked()


@pytest.mark.parametrize("name", ["a b", "123", "a;b", "ü"])
def test_a_name_that_would_break_commands_is_refused(copy: Path, name: str) -> None:
    shutil.copy(copy / "conf/strategy/cyclic.yaml", copy / f"conf/strategy/{name}.yaml")
    replace(copy, "study/pocket.yaml", "strategies: [direct,", f"strategies: ['{name}', direct,")
    with pytest.raises(ConfigError, match="begin with a letter"):
        Configuration(("study=pocket",), copy).checked()


@pytest.mark.parametrize("shares", ["cyclic", "direct"])
def test_sharing_in_a_loop_is_refused(copy: Path, shares: str) -> None:
    replace(copy, "strategy/cyclic.yaml", "shares: null", f"shares: {shares}")
    with pytest.raises(ConfigError, match="name the strategy that asks"):
        Configuration(("study=pocket",), copy).checked()


def test_one_title_for_two_strategies_is_refused(copy: Path) -> None:
    replace(copy, "strategy/reasoning_cyclic.yaml", "title: Reasoning Cyclic", "title: Cyclic")
    with pytest.raises(ConfigError, match=r"title 'Cyclic' is that of conf/strategy/cyclic\.yaml too"):
        Configuration(("study=pocket",), copy).checked()


def test_an_unknown_choice_on_the_command_line_lists_what_there_is() -> None:
    with pytest.raises(ConfigError, match=r"conf/study has no pockt\.yaml\. Did you mean 'pocket'\?"):
        _ = Configuration(("study=pockt",), ROOT).study


def test_an_unknown_key_on_the_command_line_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"study\.resample"):
        _ = Configuration(("study=pocket", "study.resample=500"), ROOT).study


def test_a_value_on_the_command_line_reaches_the_study() -> None:
    configuration = Configuration(("study=pocket", "study.decoding.max_new_tokens=7"), ROOT)
    assert configuration.study.decoding.max_new_tokens == 7


def test_a_derived_strategy_without_the_one_it_reads_is_refused(copy: Path) -> None:
    replace(copy, "study/pocket.yaml", "direct, reasoning_direct, cyclic,", "direct, reasoning_direct,")
    with pytest.raises(ConfigError, match="'direct' reads the recorded answers of 'cyclic'"):
        Configuration(("study=pocket",), copy).checked()


def test_an_open_value_of_a_model_is_named(copy: Path) -> None:
    file = copy / "conf" / "model" / "simulated.yaml"
    file.write_text(file.read_text(encoding="utf-8") + "\nrevision: ???\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"conf/model/simulated\.yaml: key 'revision' is open"):
        Configuration(root=copy).model("simulated")


def test_invalid_yaml_is_one_sentence(copy: Path) -> None:
    (copy / "conf" / "study" / "pocket.yaml").write_text("title: [open\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"not valid YAML|while parsing"):
        _ = Configuration(("study=pocket",), copy).study


def test_a_cells_resolved_run_does_not_change_when_the_grid_around_it_grows(copy: Path) -> None:
    cell = CellName("simulated", "pocket_qa", "cyclic")
    before = Configuration(("study=pocket",), copy).resolved(cell)
    replace(copy, "study/pocket.yaml", "models: [smollm2-135m, simulated]", "models: [simulated]")
    assert Configuration(("study=pocket",), copy).resolved(cell) == before
