from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from stablechoice.errors import ConfigError, DataError
from stablechoice.questions.loading import encode
from stablechoice.questions.manifest import read_manifest, select
from stablechoice.questions.relational import is_relational
from stablechoice.questions.sampling import repeat_subset, sample
from stablechoice.questions.source import FOLDER_VARIABLE, Source, is_open, load

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "conf" / "benchmark").glob("*.yaml"))
OPEN = [path.stem for path in FILES if is_open(path)]
KEYS = [path.stem for path in FILES if path.stem not in OPEN]
SHIPPED = ("nonsense_qa", "nonsense_qa_100", "nonsense_qa_1000", "pocket_qa")
PAPERS = ("arc_challenge", "arc_challenge_v1", "arc_challenge_validation", "mmlu", "mmlu_v1")
OURS = (*PAPERS, *SHIPPED)
LINE = json.dumps({"subject": "s", "question": "Which?", "options": ["a", "b"], "answer_index": 0}) + "\n"
# sha256sum of the prepared file of LINE, which is this line and a newline:
# {"gold":0,"options":["a","b"],"question":"Which?","question_id":"dadcfe6b1bdb1e31","subject":"s"}
SHA256 = "dce736bad64dd6678bb7cddfbc48e3f4258d836f28f70c30d6957fe20c00d4a4"


def configured(key: str) -> Source:
    return Source.read(ROOT / "conf" / "benchmark" / f"{key}.yaml")


def mapping(**changes: Any) -> dict[str, Any]:
    plain: dict[str, Any] = {
        "title": "Tiny",
        "benchmark": "tiny",
        "file": "tiny.jsonl",
        "prepared": {"count": 1, "sha256": SHA256},
        "sample": {"rule": "all"},
        "manifest": "data/manifests/tiny.csv",
        "columns": ["question_id"],
        "commit_texts": True,
    }
    return {key: value for key, value in (plain | changes).items() if value != "absent"}


@pytest.fixture(autouse=True)
def no_folder_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)


def put(folder: Path, content: str = LINE) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tiny.jsonl").write_text(content, encoding="utf-8", newline="\n")


@pytest.mark.parametrize("key", KEYS)
def test_every_configuration_is_read_short_and_has_a_comment_above_each_key(key: str) -> None:
    path = ROOT / "conf" / "benchmark" / f"{key}.yaml"
    lines = path.read_text(encoding="utf-8").splitlines()
    assert configured(key).title
    assert len(lines) <= 24
    for above, line in zip(["", *lines], lines, strict=False):
        assert line.startswith("#") or above.startswith("#"), line


def test_benchmarks_have_names_and_lists_of_their_own() -> None:
    assert set(OURS) <= set(KEYS)
    every = [configured(key) for key in KEYS]
    assert len({source.title for source in every}) == len({source.manifest for source in every}) == len(KEYS)
    sources = [configured(key) for key in OURS]
    assert {source.benchmark for source in sources} == {"arc_challenge", "mmlu", "nonsense_qa", "pocket_qa"}
    assert [source.commit_texts for source in sources] == [key in SHIPPED for key in OURS]


def test_benchmarks_whose_pins_nobody_gave_us_are_refused_until_they_are_filled_in(tmp_path: Path) -> None:
    assert {"csqa", "gpqa", "mmlu_pro"} <= set(OPEN)
    for key in ("csqa", "gpqa", "mmlu_pro"):
        path = ROOT / "conf" / "benchmark" / f"{key}.yaml"
        with pytest.raises(ConfigError, match=r"'\w+' must be text, found '\?\?\?'"):
            Source.read(path)
        filled = path.read_text(encoding="utf-8").replace('revision: "???"', f"revision: {'a1' * 20}")
        (tmp_path / f"{key}.yaml").write_text(filled.replace('sha256: "???"', f"sha256: {'c0' * 32}"), encoding="utf-8")
        assert not is_open(tmp_path / f"{key}.yaml")
        source = Source.read(tmp_path / f"{key}.yaml")
        assert (source.benchmark, source.commit_texts) == (key, False)
        assert source.hub is not None


def test_a_published_table_is_a_local_file_like_any_other(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "sources"
    folder.mkdir(parents=True)
    columns = "Question,Correct Answer,Incorrect Answer 1,Incorrect Answer 2,Incorrect Answer 3"
    (folder / "tiny.csv").write_text(f"{columns}\nWhich?,a,b,c,d\n", encoding="utf-8")
    config = Source.from_mapping(mapping(file="tiny.csv"), "tiny.yaml")
    # The message of a first try gives the hash that a person then writes into the configuration.
    with pytest.raises(DataError, match=r"prepared\.sha256 is [0-9a-f]{64} and") as refusal:
        load(config, tmp_path)
    line = yaml.safe_load(str(refusal.value).split("`")[-2])
    [question] = load(Source.from_mapping(mapping(file="tiny.csv", **line), "tiny.yaml"), tmp_path)
    assert (question.subject, sorted(question.options)) == ("tiny", ["a", "b", "c", "d"])


def test_sizes_of_generated_questions_are_configured() -> None:
    sizes = {"seed": 1, "count": 1, "option_count": 3, "stem_words": [4, 4], "option_words": 1}
    config = Source.from_mapping(mapping(file="words.txt", generated=sizes), "tiny.yaml")
    with pytest.raises(DataError, match="sha256"):
        load(config, ROOT)
    assert config.generated is not None
    [question] = config.generated.questions(ROOT / "data" / "sources" / "words.txt")
    assert len(question.question.split()) == 4
    assert [len(option.split()) for option in question.options] == [1, 1, 1]
    short = Source.from_mapping(mapping(file="words.txt", generated=sizes | {"stem_words": [4]}), "tiny.yaml")
    with pytest.raises(ConfigError, match="stem_words"):
        load(short, ROOT)


@pytest.mark.parametrize("key", SHIPPED)
def test_shipped_benchmarks_load_and_their_list_is_what_the_rule_draws(key: str) -> None:
    source = configured(key)
    drawn = sample(load(source, ROOT), source.sample, source.benchmark)
    assert read_manifest(ROOT / source.manifest) == [question.question_id for question in drawn]


@pytest.mark.shared
@pytest.mark.parametrize("key", PAPERS)
def test_papers_benchmarks_load_from_a_named_folder_and_their_lists_are_what_the_rules_draw(
    key: str, shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(shared / "benchmarks"))
    source = configured(key)
    drawn = sample(load(source, ROOT), source.sample, source.benchmark)
    assert read_manifest(ROOT / source.manifest) == [question.question_id for question in drawn]
    if source.repeats is not None:
        again = repeat_subset(drawn, benchmark=source.benchmark, count=source.repeat_count)
        assert read_manifest(ROOT / source.repeats) == [question.question_id for question in again]


def test_the_pocket_studys_questions_keep_their_mix() -> None:
    source = configured("pocket_qa")
    asked = select(load(source, ROOT), read_manifest(ROOT / source.manifest), source.manifest)
    counts = Counter((len(question.options), question.gold) for question in asked)
    # 40 = 4 x 10, 5 = 3 x 1 and one more at the first two positions, 5 = 5 x 1.
    assert [counts[4, gold] for gold in range(4)] == [10] * 4
    assert [counts[3, gold] for gold in range(3)] == [2, 2, 1]
    assert [counts[5, gold] for gold in range(5)] == [1] * 5
    assert sum(map(is_relational, asked)) >= 3
    nonsense = configured("nonsense_qa")
    drawn = select(load(nonsense, ROOT), read_manifest(ROOT / nonsense.manifest), nonsense.manifest)
    assert Counter(question.gold for question in drawn) == {0: 13, 1: 13, 2: 12, 3: 12}


def test_a_local_file_is_found_in_data_sources_and_the_named_folder_goes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Source.from_mapping(mapping(), "tiny.yaml")
    put(tmp_path / "data" / "sources")
    assert load(source, tmp_path)[0].question == "Which?"
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "empty"))
    assert load(source, tmp_path)[0].question == "Which?"
    put(tmp_path / "named", LINE.replace("Which?", "Changed?"))
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "named"))
    with pytest.raises(DataError, match=r"Tiny: the source holds other .*prepared\.sha256 is [0-9a-f]{64} and"):
        load(source, tmp_path)


def test_a_named_folder_that_is_relative_lies_in_the_repository_wherever_one_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "repository" / "texts")
    monkeypatch.setenv(FOLDER_VARIABLE, "texts")
    monkeypatch.chdir(tmp_path)
    assert load(Source.from_mapping(mapping(), "tiny.yaml"), tmp_path / "repository")[0].question == "Which?"


def test_a_source_that_is_nowhere_names_where_it_was_sought_and_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"tiny\.jsonl is in none of .*put tiny\.jsonl into .*STABLECHOICE_SOURCES"):
        load(Source.from_mapping(mapping(), "tiny.yaml"), tmp_path)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (LINE + LINE, r"prepared\.count is 2 and 1 is pinned"),
        (LINE.replace('"answer_index": 0', '"answer_index": 1'), r"prepared\.sha256"),
    ],
)
def test_questions_other_than_the_pinned_ones_are_refused(tmp_path: Path, content: str, complaint: str) -> None:
    put(tmp_path / "data" / "sources", content)
    with pytest.raises(DataError, match=complaint):
        load(Source.from_mapping(mapping(), "tiny.yaml"), tmp_path)


def test_one_refusal_names_the_file_all_that_differs_and_the_line_that_would_pin_it(tmp_path: Path) -> None:
    put(tmp_path / "data" / "sources", LINE + LINE.replace("Which?", "Changed?") + LINE)
    config = Source.from_mapping(mapping(prepared={"count": 0, "sha256": "unknown"}), "tiny.yaml")
    with pytest.raises(DataError) as refusal:
        load(config, tmp_path, where="conf/benchmark/tiny.yaml")
    said = str(refusal.value)
    assert said.startswith("conf/benchmark/tiny.yaml: ")
    for name in ("count is 3 and 0 is", "sha256 is", "repeated is 1 and 0 is"):
        assert f"prepared.{name}" in said
    line = yaml.safe_load(said.split("`")[-2])
    assert len(load(Source.from_mapping(mapping(**line), "tiny.yaml"), tmp_path)) == 3


def test_repeated_ids_must_be_as_many_as_pinned(tmp_path: Path) -> None:
    put(tmp_path / "data" / "sources", LINE + LINE)
    prepared = {"count": 2, "sha256": SHA256}
    with pytest.raises(DataError, match=r"prepared\.repeated is 1 and 0 is pinned"):
        load(Source.from_mapping(mapping(prepared=prepared), "tiny.yaml"), tmp_path)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"titel": "x"}, "tiny.yaml: unknown key 'titel'; did you mean 'title'\\? allowed are title, benchmark"),
        ({"title": "absent"}, "tiny.yaml: the key 'title' is missing"),
        ({"title": "???"}, "tiny.yaml: 'title' must be text, found '\\?\\?\\?'"),
        ({"prepared": "???"}, "tiny.yaml: 'prepared' must be a mapping"),
        ({"prepared": {"count": 1}}, "tiny.yaml: prepared: the key 'sha256' is missing"),
        ({"prepared": {"count": True, "sha256": "x"}}, "tiny.yaml: prepared: 'count' must be a whole number"),
        ({"commit_texts": "yes"}, "'commit_texts' must be true or false"),
        ({"columns": "question_id"}, "'columns' must be a list"),
        ({"repeats": 3}, "'repeats' must be text"),
        ({"hub": {"id": "a/b", "config": "c", "split": "test"}}, "tiny.yaml: hub: the key 'revision' is missing"),
        ({"hub": {"id": "a/b", "config": "c", "split": "test", "revision": "main"}}, "give the full commit"),
        ({"generated": {"seed": 1, "count": 1, "options": 4}}, "tiny.yaml: generated: unknown key 'options'"),
    ],
)
def test_a_mistake_in_a_configuration_names_file_key_and_what_is_allowed(
    changes: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(ConfigError, match=complaint):
        Source.from_mapping(mapping(**changes), "tiny.yaml")


def test_questions_cannot_be_both_read_and_generated() -> None:
    hub = {"id": "a/b", "config": "c", "split": "test", "revision": "0" * 40}
    generated = {"seed": 1, "count": 1, "option_count": 4}
    with pytest.raises(ConfigError, match="has hub and generated"):
        Source.from_mapping(mapping(hub=hub, generated=generated), "tiny.yaml")


def test_a_file_that_is_no_yaml_or_absent_is_refused(tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text("title: [", encoding="utf-8")
    for name in ("b.yaml", "absent.yaml"):
        with pytest.raises(ConfigError, match=rf"{name}: cannot be read as YAML"):
            Source.read(tmp_path / name)
    (tmp_path / "b.yaml").write_text("", encoding="utf-8")
    with pytest.raises(ConfigError, match="a mapping with the keys"):
        Source.read(tmp_path / "b.yaml")


def test_a_hub_benchmark_without_a_local_file_is_read_from_the_hub(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    datasets = pytest.importorskip("datasets", reason="datasets is not installed (extra cpu)")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))
    (tmp_path / "hub" / "all").mkdir(parents=True)
    row = {"question": "Which?", "subject": "s", "choices": ["a", "b"], "answer": 0}
    datasets.Dataset.from_list([row]).to_parquet(str(tmp_path / "hub" / "all" / "test-0.parquet"))
    hub = {"id": str(tmp_path / "hub"), "config": "all", "split": "test", "revision": "0" * 40}
    # The pinned sha256 is that of the local file's questions: both ways give the same bytes.
    [question] = load(Source.from_mapping(mapping(hub=hub), "tiny.yaml"), tmp_path)
    put(tmp_path / "data" / "sources")
    assert encode([question]) == encode(load(Source.from_mapping(mapping(), "tiny.yaml"), tmp_path))


READER = """
from stablechoice.questions.question import Question, question_id

def read(path, benchmark):
    words = path.read_text(encoding="utf-8").split()
    return [Question(question_id(benchmark, "Which?", words), benchmark, "Which?", tuple(words), 0)]

def wrong(path, benchmark):
    return ["Which?"]
"""
# sha256sum of {"gold":0,"options":["a","b"],"question":"Which?","question_id":"<16 hex of sha256 'tiny|Which?|a|b'>",
# "subject":"tiny"} and a newline, made with sha256sum.
READ_SHA256 = "101458119f1770bc71ff4baf5723c2e23e53d7cb0a8326446a4bbab285d518af"


@pytest.fixture
def own_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_reader_of_tests.py").write_text(READER, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    put(tmp_path / "data" / "sources", "a b\n")


@pytest.mark.usefixtures("own_reader")
def test_a_function_of_ones_own_reads_the_file(tmp_path: Path) -> None:
    prepared = {"count": 1, "sha256": READ_SHA256}
    config = Source.from_mapping(mapping(reader="own_reader_of_tests.read", prepared=prepared), "tiny.yaml")
    (question,) = load(config, tmp_path)
    assert (question.subject, question.options, question.gold) == ("tiny", ("a", "b"), 0)


@pytest.mark.usefixtures("own_reader")
@pytest.mark.parametrize(
    ("reader", "error", "words"),
    [
        ("own_reader_of_tests.reed", ConfigError, "reader 'own_reader_of_tests.reed' cannot be imported"),
        ("reader", ConfigError, "give module.function"),
        ("own_reader_of_tests.wrong", DataError, "must return a list of Question"),
    ],
)
def test_a_reader_that_is_none_is_named(tmp_path: Path, reader: str, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        load(Source.from_mapping(mapping(reader=reader), "tiny.yaml"), tmp_path)


def test_a_reader_stands_alone() -> None:
    hub = {"id": "a/b", "config": "c", "split": "test", "revision": "0" * 40}
    with pytest.raises(ConfigError, match="'reader' reads 'file'"):
        Source.from_mapping(mapping(reader="a.b", hub=hub), "tiny.yaml")
