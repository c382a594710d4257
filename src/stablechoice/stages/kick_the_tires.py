"""Kick the tires: minutes, no key, no GPU, no network: printed, stored and live numbers, expected beside got."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from rich.text import Text

from stablechoice.artifact.check import Check, Group
from stablechoice.artifact.comparison import Tally, tallies
from stablechoice.artifact.published_checks import published_groups
from stablechoice.artifact.table_checks import table_group
from stablechoice.cell_name import CellName
from stablechoice.cell_plan import CellPlan, plan
from stablechoice.configuration import Configuration
from stablechoice.driver import run as drive
from stablechoice.errors import StablechoiceError
from stablechoice.generations import Generation, read, write
from stablechoice.journal import Journal
from stablechoice.progress import Meter
from stablechoice.questions.manifest import read_manifest, select
from stablechoice.questions.source import load
from stablechoice.report.published import load_published
from stablechoice.stages.cell import cell_plan
from stablechoice.stages.options import options, switch
from stablechoice.stages.recompute import recompute
from stablechoice.stages.stored import Stored
from stablechoice.stages.verify import alone, compared

STUDY = "pocket"
LIVE = CellName("smollm2-135m", "pocket_qa", "cyclic")
QUESTIONS = 8
"""Asked live, of the sample's first, in every rotation."""

EXPECTED = Path("data") / "kick_the_tires.jsonl"
"""What the live run answered before, as rows of a generations file; used where no stored answer is at hand."""

MOST_DIFFERENT = 0.05
"""Share of live answers that may differ: float32 arithmetic is the same on machines of one kind only."""

_SHOWN = 6


def run(overrides: Sequence[str]) -> int:
    """Print every group, with `all=1` to its last row; `write=1` also writes `EXPECTED` anew from the stored answers.

    Returns:
        0 where every group passes, else 1.
    """
    given = options("kick-the-tires", overrides, {"write": "0", "all": "0"})
    whole = switch("all", given["all"])
    configuration = Configuration((f"study={STUDY}",))
    configuration.checked()
    if switch("write", given["write"]):
        write(configuration.root / EXPECTED, _first(configuration, read(configuration.layout().generations(LIVE))))
    # A pipe or a file has no width of its own: wide enough for two answers side by side.
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 120)
    start = time.monotonic()
    failed = 0
    for group in _groups(configuration):
        show(console, group, whole=whole)
        failed += not group.ok
    verdict = "all groups pass" if not failed else f"{failed} groups do NOT pass"
    console.print(Text(f"{verdict}, in {time.monotonic() - start:.0f} s"))
    return int(failed > 0)


def _groups(configuration: Configuration) -> Iterator[Group]:
    yield from published_groups(load_published(configuration.root / "data" / "published"))
    yield _caught("Stored answers of the pocket study, read again", lambda: stored_group(configuration))
    yield _caught("The pocket model, asked live", lambda: live_group(configuration))


def _caught(title: str, make: Callable[[], Group]) -> Group:
    """A group that cannot be made fails, and says why; the others are shown all the same."""
    try:
        return make()
    except StablechoiceError as error:
        return Group(title, "recompute", "it can be run", (Check(title, "to run", str(error), ok=False),))


def stored_group(configuration: Configuration) -> Group:
    """Stored answers read again and all tables recomputed, beside the committed ones; else these from their counts.

    Raises:
        AnalysisError, DataError, PlanError: stored files are not what they should be.
        BundleError: the committed tables are not whole.
    """
    layout = configuration.layout()
    if not all((configuration.root / path).exists() for path in Stored(configuration).needed()):
        return table_group(layout.tables)
    with TemporaryDirectory(prefix="stablechoice-") as folder:
        root = _copied(configuration, Path(folder) / "repository")
        aside = Path(folder) / "stored"
        shutil.move(root / "data" / STUDY / "observations", aside / "data" / STUDY / "observations")
        with alone(root):
            there = Configuration((f"study={STUDY}",), root)
            recomputed = recompute(there, aside, {}, lambda what: sys.stderr.write(f"{what} …\n"))
            numbers = compared(layout.folder, there)
    checks = [
        Check.equal(f"{tally.file}: numbers", str(tally.equal + tally.differs + tally.missing), _counted(tally))
        for tally in tallies(numbers)
        if tally.file.endswith((".csv", "metrics.json"))
    ]
    checks += [
        Check(f"{cell}: observations", "as stored", f"{lines} lines differ", ok=False)
        for cell, lines in recomputed.altered.items()
    ]
    checks += [Check(cell, "read again", why, ok=False) for cell, why in recomputed.hindered.items()]
    title = f"Stored answers of the pocket study, read again: {len(recomputed.rescored)} cells"
    return Group(title, "recompute", "every number of every table is equal", tuple(checks))


def _counted(tally: Tally) -> str:
    more = [f"{n} {word}" for n, word in ((tally.differs, "differ"), (tally.missing, "missing"))]
    more += [f"{tally.additional} additional"]
    return ", ".join([str(tally.equal), *(part for part in more if not part.startswith("0 "))])


def _copied(configuration: Configuration, root: Path) -> Path:
    """What recomputing reads, in a folder of its own: nothing of the repository is touched."""
    parts = ["conf", "data/benchmarks", "data/manifests", "data/published", "data/sources"]
    parts += [f"data/{STUDY}/generations", f"data/{STUDY}/observations"]
    for part in parts:
        shutil.copytree(configuration.root / part, root / part)
    return root


def live_group(configuration: Configuration) -> Group:
    """A few questions asked of the real model now, beside what it answered before.

    Raises:
        DataError: the expected answers are missing or broken.
        EngineError, ModelError: the model cannot run here; the message says what to do.
    """
    cell = _live_plan(configuration)
    stored = configuration.layout().generations(LIVE)
    source = stored if stored.is_file() else configuration.root / EXPECTED
    expected = {row.key: row.response.text for row in read(source)}
    with TemporaryDirectory(prefix="stablechoice-") as folder, Journal.open(Path(folder) / "answers.sqlite") as journal:
        with closing(configuration.model(LIVE.model).engine) as engine, Meter(sys.stderr, "live") as meter:
            drive([cell], journal, engine, progress=meter)
        asked = [one for one in plan(cell, journal.lookup) if one.response is not None]
    checks = []
    for one in asked:
        got = one.response.text if one.response is not None else ""
        before = expected.get(one.key, "never asked like this: `stablechoice kick-the-tires write=1`")
        checks.append(Check.equal(f"{one.request.question_id} rotation {one.request.address.rotation}", before, got))
    return Group(
        f"The pocket model, asked live: {len(cell.questions)} questions in every rotation",
        "re-run local",
        f"at most {MOST_DIFFERENT:.0%} of the answers differ from {source.relative_to(configuration.root)}",
        tuple(checks),
        MOST_DIFFERENT,
    )


def _live_plan(configuration: Configuration) -> CellPlan:
    source = configuration.benchmark(LIVE.benchmark)
    manifest = configuration.root / source.manifest
    questions = select(load(source, configuration.root), read_manifest(manifest), manifest)
    return cell_plan(configuration, LIVE, questions[:QUESTIONS])


def _first(configuration: Configuration, rows: Sequence[Generation]) -> list[Generation]:
    wanted = {question.question_id for question in _live_plan(configuration).questions}
    return [row for row in rows if row.request.question_id in wanted]


def show(console: Console, group: Group, *, whole: bool = False) -> None:
    """A group as a table: what disagrees, then as many others as fit.

    Args:
        whole: every row, however many.
    """
    table = Table(box=SIMPLE, title=Text(f"{group.title} [{group.level}]"), title_justify="left")
    for title in ("", "expected", "got", ""):
        table.add_column(title, overflow="fold")
    whole = whole or (len(group.checks) <= 40 and group.level == "recompute")
    agreeing = [check for check in group.checks if check.ok]
    shown = [*group.wrong, *(agreeing if whole else agreeing[:_SHOWN])]
    for check in shown:
        mark = Text("equal", "green") if check.ok else Text("DIFFERS", "bold red")
        table.add_row(Text(check.what), Text(_short(check.expected)), Text(_short(check.got)), mark)
    console.print(table)
    if len(shown) < len(group.checks):
        console.print(Text(f"{len(shown)} of {len(group.checks)} shown, all with `stablechoice kick-the-tires all=1`"))
    counted = f"{len(group.checks) - len(group.wrong)} of {len(group.checks)} agree"
    console.print(Text(f"{'pass' if group.ok else 'FAIL'}: {counted} ({group.rule})\n"))


def _short(text: str, most: int = 60) -> str:
    one_line = " ".join(text.split())
    return one_line if len(one_line) <= most else f"{one_line[: most - 1]}…"
