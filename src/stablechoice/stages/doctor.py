"""Doctor: one page that says what this machine can run, and what to do about each lack."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from stablechoice.doctor import machine, packages
from stablechoice.doctor.page import Page
from stablechoice.doctor.sheet import show
from stablechoice.errors import ConfigError, StablechoiceError
from stablechoice.layout import find_root

if TYPE_CHECKING:  # the page can be had without Hydra
    from stablechoice.configuration import Configuration


def run(overrides: Sequence[str], *, as_json: bool = False) -> int:
    """Print the page; the exit code is 0 where the pocket study can run, else 1.

    Raises:
        ConfigError: words that it does not know.
    """
    if overrides:
        raise ConfigError(f"{overrides[0]}: doctor looks at every study and takes no such word; leave it out")
    page = _page(find_root())
    if as_json:
        sys.stdout.write(page.json() + "\n")
    else:
        show(page)
    return 0 if page.pocket_runs else 1


def _page(root: Path) -> Page:
    """The whole page, or what can be said without the packages where they are missing."""
    try:
        from stablechoice.doctor.examination import examine
        from stablechoice.doctor.studies import configurations

        # Composing takes most of the time: what was composed for the pipelines is judged afterwards.
        studies = configurations(root)
        return examine(root, _stale(root, studies), studies)
    except ImportError:
        python = [packages.interpreter(), *packages.against_locks(root / "requirements", packages.installed())]
        if all(finding.state != "lack" for finding in python):
            raise  # nothing is missing that the page could name
        return Page((("Python", tuple(python)), ("Machine", tuple(machine.examine(machine.measure(root))))))


def _stale(root: Path, studies: Sequence[Configuration]) -> list[str]:
    """Pipeline files that are not as `conf/` describes them; a study that cannot be composed has a verdict instead."""
    from stablechoice.configuration import Configuration
    from stablechoice.stages.pipeline import shared_files, study_files

    described: dict[Path, str] = {}
    with suppress(StablechoiceError):
        described |= shared_files(Configuration(root=root))
    for study in studies:
        with suppress(StablechoiceError):
            described |= study_files(study)
    stale = [path for path, text in described.items() if not path.is_file() or path.read_text("utf-8") != text]
    return [path.relative_to(root).as_posix() for path in sorted(stale)]
