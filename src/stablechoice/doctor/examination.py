"""Everything that is looked at, in the order of the page."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from stablechoice.configuration import Configuration
from stablechoice.doctor import cards, checkout, containers, machine, online, packages, programs
from stablechoice.doctor.page import Page
from stablechoice.doctor.place import Place
from stablechoice.doctor.studies import verdicts
from stablechoice.runtime import card


def examine(root: Path, stale: Sequence[str], studies: Sequence[Configuration]) -> Page:
    """Look at everything; nothing is installed, built, loaded or sent.

    Args:
        stale: pipeline files that are not as `conf/` describes them.
        studies: the studies to judge.
    """
    present = packages.installed()
    here = machine.measure(root)
    seen = card.read()
    python = [packages.interpreter(), *packages.against_locks(root / "requirements", present)]
    repository = [*checkout.examine(root, stale), *programs.examine(os.environ)]
    hub = online.ask()
    sections = (
        ("Python", tuple(python)),
        ("Machine", (*machine.examine(here), *cards.examine(seen, root, present))),
        ("Repository and programs", tuple(repository)),
        ("Containers", tuple(containers.examine(root, os.environ))),
        ("Network", tuple(online.examine(hub))),
    )
    lacks = tuple(
        f"{one.subject}: {one.what}; {one.remedy}"
        for _, findings in sections
        for one in findings
        if one.state == "lack"
    )
    place = Place(here, hub, present, cards.lack(seen, root), lacks)
    return Page(sections, tuple(verdicts(studies, place)))
