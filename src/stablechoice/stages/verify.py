"""Verify: a bundle's hashes checked, its answers read again, its tables recomputed, every number compared; offline."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console

from stablechoice.artifact.archive import ENDING, MOST_GIB
from stablechoice.artifact.comparison import Number, compare_folders, compare_metrics, tallies, to_csv
from stablechoice.artifact.environment import installed, mismatches, python_mismatch, read_locks
from stablechoice.artifact.failure import BundleError
from stablechoice.artifact.inventory import LEVEL
from stablechoice.artifact.member import Member
from stablechoice.artifact.package_code import FOLDER as PACKAGE
from stablechoice.artifact.package_code import PackageCode, code_sha256
from stablechoice.artifact.trust import check_reader, check_targets
from stablechoice.artifact.workspace import Opened, open_bundle, put_back, set_aside
from stablechoice.configuration import Configuration
from stablechoice.durable import write_whole
from stablechoice.errors import ConfigError, OpenError
from stablechoice.stages.options import options
from stablechoice.stages.recompute import recompute
from stablechoice.stages.stored import Stored
from stablechoice.stages.verification import Outcome, report

OPTIONS = {"bundle": "", "sha256": "", "limit": str(MOST_GIB), "out": ""}


@contextmanager
def alone(root: Path) -> Iterator[None]:
    """Nothing of the caller's repository, models or network while the block runs; variables are put back after it."""
    fixed = {"STABLECHOICE_ROOT": str(root), "STABLECHOICE_MODELS": str(root / "models"), "HF_HUB_OFFLINE": "1"}
    before = {name: value for name, value in os.environ.items() if name.startswith("STABLECHOICE_") or name in fixed}
    for name in before:
        del os.environ[name]
    os.environ.update(fixed)
    try:
        yield
    finally:
        for name in fixed:
            os.environ.pop(name, None)
        os.environ.update(before)


def compared(expected: Path, configuration: Configuration) -> list[Number]:
    """Every number of the tables and metrics that were set aside, beside those that were computed."""
    layout = configuration.layout()
    numbers = compare_folders(expected / layout.tables.name, layout.tables)
    return numbers + compare_metrics(expected / layout.metrics.name, layout.metrics)


def verify(opened: Opened, work: Path, console: Console) -> Outcome:
    """Recompute everything of an unpacked bundle and compare.

    Raises:
        BundleError: it is unfinished, its cache is damaged, or its configuration would run other code.
        AnalysisError, ConfigError, DataError, PlanError: stored files are not what they should be.
    """
    told, root = opened.inventory, opened.root
    here = installed()
    odd = (*python_mismatch(told.python, here), *mismatches(read_locks(root / "requirements"), here))
    for one in odd:
        console.print(f"environment: {one}")
    with alone(root):
        configuration = Configuration((f"study={told.study}",), root)
        _check_trust(configuration)
        configuration.checked()
        stored = Stored(configuration)
        kept = stored.outputs()
        left_out = {} if told.texts else stored.with_texts(kept, stored.closed)
        stored.check_whole(kept)
        expected, aside = work / "expected", work / "stored"
        set_aside(root, told.study, expected)
        inside = [one for one in kept if one.path not in left_out]
        put_back(opened.cache, inside, root, aside, f"data/{told.study}/observations")
        golds = {benchmark: told.relational_golds.get(benchmark, []) for benchmark in _without_texts(configuration)}
        recomputed = recompute(configuration, aside, golds, lambda what: console.print(f"{what} …"))
        return Outcome(tuple(compared(expected, configuration)), recomputed, odd)


def _without_texts(configuration: Configuration) -> list[str]:
    layout = configuration.layout()
    return [b for b in configuration.study.benchmarks if not layout.questions(b).is_file()]


def _check_trust(configuration: Configuration) -> None:
    """Everything that verifying builds from the bundle's `conf/`, strategies first: they name models and embedders."""
    study = configuration.study
    for key in study.strategies:
        check_targets("strategy", key, configuration.group("strategy", key))
    for key in configuration.asked_models:
        check_targets("model", key, configuration.group("model", key))
    ablated = [name for key in study.strategies for name in getattr(configuration.strategy(key), "embedders", ())]
    for key in dict.fromkeys([study.embedder, *ablated]):
        with suppress(OpenError):  # one that is left open is not built
            check_targets("embedder", key, configuration.group("embedder", key))
    for key in configuration.prepared_benchmarks:
        check_reader(key, configuration.group("benchmark", key).get("reader"))


def _check_archive(path: Path, wanted: str) -> str:
    """sha256 of the whole archive, compared with the one given or the one that lies beside it."""
    if not path.is_file():
        raise BundleError(f"{path}: no such bundle; name one: BUNDLE=path/to/bundle{ENDING}")
    digest = Member("", path).sha256
    beside = path.with_name(f"{path.name}.sha256")
    told = {"the one given": wanted} if wanted else {}
    if beside.is_file():
        told[f"the one in {beside.name}"] = beside.read_text(encoding="utf-8", errors="replace").split(" ")[0].strip()
    for where, expected in told.items():
        if digest != expected.lower():
            raise BundleError(f"{path}: its sha256 is {digest}, {where} is {expected}; fetch the bundle again")
    return digest


def _limit(given: str) -> float:
    try:
        limit = float(given)
    except ValueError:
        limit = 0.0
    if not 0 < limit < float("inf"):
        raise ConfigError(f"limit={given}: must be a number of GiB above 0")
    return limit


def run(overrides: Sequence[str]) -> int:
    """Print the verdict and write every number beside the bundle (or into the folder `out=`).

    Returns:
        see `verification.EQUAL`.
    """
    given = options("verify", overrides, OPTIONS)
    if not given["bundle"]:
        raise ConfigError(f"name the bundle: make verify BUNDLE=path/to/bundle{ENDING}")
    path = Path(given["bundle"])
    console = Console(soft_wrap=True, highlight=False, markup=False)
    digest = _check_archive(path, given["sha256"])
    with TemporaryDirectory(prefix="stablechoice-") as folder:
        work = Path(folder)
        opened = open_bundle(path, work, _limit(given["limit"]))
        _introduce(console, path, digest, opened)
        outcome = verify(opened, work, console)
    report(console, outcome)
    stem = (Path(given["out"]) if given["out"] else path.parent) / path.name.removesuffix(ENDING)
    numbers, summary = _write(stem, digest, opened, outcome)
    console.print(f"every number: {numbers}")
    console.print(f"summary:      {summary}")
    console.print(outcome.sentence)
    return outcome.code


def _introduce(console: Console, path: Path, digest: str, opened: Opened) -> None:
    told, running = opened.inventory, PackageCode.running()
    same = code_sha256(opened.root / PACKAGE) == running.sha256
    console.print(f"bundle:   {path.name}: {told.title}, level {LEVEL}")
    console.print(f"sha256:   {digest}")
    console.print(f"contents: {opened.sums.whole}, all {len(opened.sums.digests)} members as listed")
    console.print(f"bundle's commit:  {told.commit[:12]}")
    console.print(
        f"this program's:   {running.name}; its code is {'the same' if same else 'not the same'} as the bundle's"
    )
    if told.texts_left_out:
        console.print(f"left out of the bundle: {len(told.texts_left_out)} outputs that hold question texts")
    for left in told.provenance_left_out:
        console.print(f"left out of the bundle: {left}: {told.left_out[left]}")


def _write(stem: Path, digest: str, opened: Opened, outcome: Outcome) -> tuple[Path, Path]:
    table, summary = stem.with_name(f"{stem.name}.verify.csv"), stem.with_name(f"{stem.name}.verify.json")
    write_whole(table, to_csv(outcome.numbers).encode("utf-8"))
    content = {
        "bundle_sha256": digest,
        "contents_sha256": opened.sums.whole,
        "study": opened.inventory.study,
        "commit": opened.inventory.commit,
        "level": LEVEL,
        "program": asdict(PackageCode.running()),
        "environment": [asdict(one) for one in outcome.environment],
        "rescored": list(outcome.recomputed.rescored),
        "taken_from_stored_observations": dict(outcome.recomputed.taken),
        "altered_observations": dict(outcome.recomputed.altered),
        "files": [asdict(tally) for tally in tallies(outcome.numbers)],
        "verdict": outcome.sentence,
        "exit_code": outcome.code,
    }
    text = json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False)
    write_whole(summary, f"{text}\n".encode())
    return table, summary
