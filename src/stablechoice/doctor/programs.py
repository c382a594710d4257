"""Programs of the system: those that a run needs, and those that only tests use."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from stablechoice.doctor.finding import Finding, State

_PROGRAMS: tuple[tuple[str, tuple[str, ...], State, str], ...] = (
    ("git", ("git",), "lack", "install it (Debian: apt install git); DVC and the record of a run need it"),
    ("docker command", ("docker",), "note", "only building an image needs it, with its buildx plugin"),
    ("Chromium", ("chromium", "chromium-browser", "google-chrome"), "note", "only browser tests need it"),
    ("TeX", ("pdflatex",), "note", "only the test that compiles the LaTeX tables needs it"),
    ("hadolint", ("hadolint",), "note", "only the test that checks the Dockerfiles needs it: make install"),
)
"""Subject, names to look for, what it means where none is found, and what to do."""


def examine(environ: Mapping[str, str]) -> list[Finding]:
    """Look for each program on the PATH and beside this interpreter."""
    inside = "STABLECHOICE_IMAGE" in environ  # the image's runs are told the checkout's state and need no git
    path = f"{Path(sys.executable).parent}:{environ.get('PATH', '')}"
    findings = []
    for subject, names, state, remedy in _PROGRAMS:
        found = next((where for name in names if (where := shutil.which(name, path=path))), None)
        if found is not None:
            findings.append(Finding(subject, "good", Path(found).name))
        else:
            findings.append(Finding(subject, "note" if inside else state, "not found", remedy))
    return findings
