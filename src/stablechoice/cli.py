"""The command line: `stablechoice COMMAND [key=value ...]`, each command a stage or a study-wide step."""

from __future__ import annotations

import argparse
import importlib
import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from stablechoice import __version__
from stablechoice.cell_lock import die_with_parent
from stablechoice.errors import JournalError, StablechoiceError
from stablechoice.interruption import INTERRUPTED, asked, completing, end_in_order

COMMANDS = {
    "prepare": ("stablechoice.stages.prepare", "questions of a benchmark, pinned and checked: benchmark=NAME"),
    "sample": ("stablechoice.stages.sample", "the ids that a study asks, by the papers' rules: benchmark=NAME"),
    "models": ("stablechoice.stages.models", "fetch and check the models of a study beforehand: study=NAME"),
    "estimate": ("stablechoice.stages.estimate", "tokens, money and hours, beforehand: study=NAME [model=NAME]"),
    "answer": ("stablechoice.stages.answer", "answer what a study still lacks: study=NAME [model=NAME] [retry=failed]"),
    "launch": ("stablechoice.stages.launch", "answer in shards: study= shards=N [model=] [hydra/launcher=] [wait=]"),
    "shard": ("stablechoice.stages.shard", "one shard, as launch runs it: study= part=3/8 [model=] [scratch=FOLDER]"),
    "merge": ("stablechoice.stages.merge", "prove that all shards are there, and record them: study= [shards=N]"),
    "apptainer": ("stablechoice.stages.apptainer", "definition files for Apptainer: [kind=cpu|cuda] [wheels=FOLDER]"),
    "code": ("stablechoice.stages.code", "hashes of the code that reads answers, on which every score stage depends"),
    "generate": ("stablechoice.stages.generate", "one cell's raw generations: study= model= benchmark= strategy="),
    "score": ("stablechoice.stages.score", "one cell's observations, read from its generations: same keys"),
    "repeat": ("stablechoice.stages.repeat", "raw generations of a study's repeats: study= model= benchmark="),
    "score-repeats": ("stablechoice.stages.score_repeats", "their observations: same keys"),
    "analyse": ("stablechoice.stages.analyse", "tables, figures and metrics of a study: study=NAME"),
    "report": ("stablechoice.stages.report", "the HTML report of a study: study=NAME"),
    "compare": ("stablechoice.stages.compare", "published numbers beside ours: study=NAME [published=FOLDER] [level=]"),
    "reproduce": ("stablechoice.stages.reproduce", "answer, then dvc repro, then print the main table: study=NAME"),
    "pull": ("stablechoice.stages.pull", "a study's stored answers and results: study=NAME [remote=NAME or FOLDER]"),
    "bundle": ("stablechoice.stages.bundle", "one archive for reviewers: study=NAME [images=1] [models=1] [texts=1]"),
    "verify": ("stablechoice.stages.verify", "check a bundle and recompute its numbers: bundle=FILE [sha256=] [out=]"),
    "kick-the-tires": ("stablechoice.stages.kick_the_tires", "expected beside got, without keys, GPU or network"),
    "rehearse": ("stablechoice.stages.rehearse", "the paper study at full size, simulated: [wrong=1] [fresh=1]"),
    "doctor": ("stablechoice.stages.doctor", "what this machine can run, and what to do about each lack (--json)"),
    "pipeline": ("stablechoice.stages.pipeline", "write dvc.yaml from conf/study (--check: only compare)"),
}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="stablechoice",
        description="How stably language models answer multiple-choice questions.",
        epilog="commands:\n" + "\n".join(f"  {name:<14} {text}" for name, (_, text) in COMMANDS.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"stablechoice {__version__}")
    parser.add_argument("command", choices=COMMANDS, metavar="COMMAND")
    parser.add_argument("overrides", nargs="*", metavar="key=value", help="choices and values, as Hydra writes them")
    parser.add_argument("--check", action="store_true", help="pipeline: change nothing, fail where files would change")
    parser.add_argument("--json", action="store_true", help="doctor: for programs instead of people")
    return parser


def _overrides(parser: argparse.ArgumentParser, given: Sequence[str]) -> tuple[str, ...]:
    for word in given:
        if "=" not in word:
            parser.error(f"{word!r} is not of the form key=value (for example study=pocket)")
    return tuple(given)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Returns:
        0 done; 1 an error that was explained in one line on stderr; 2 unusable arguments; 130 interrupted.
    """
    end_in_order()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that cannot show a rule or an accent must not end a run that is done.
            stream.reconfigure(errors="replace")
    parser = _parser()
    parsed = parser.parse_args(arguments)
    overrides = _overrides(parser, parsed.overrides)
    if "DVC_STAGE" in os.environ:
        # DVC that ends must not leave its stage behind; a person's own background run may outlive the shell.
        die_with_parent()
    try:
        with completing():  # a library that is loaded by halves can do anything, a crash included
            module = importlib.import_module(COMMANDS[parsed.command][0])
        if parsed.command == "pipeline":
            return int(module.run(overrides, check=parsed.check))
        if parsed.command == "doctor":
            return int(module.run(overrides, as_json=parsed.json))
        return int(module.run(overrides))
    except KeyboardInterrupt as interruption:
        _tell_interrupted(parsed.command, interruption)
        return 130
    except Exception as error:  # noqa: BLE001 - what nobody foresaw is raised again
        if asked():  # what a library made of the interruption
            _tell_interrupted(parsed.command, error)
            return 130
        return _explained(parsed.command, error)


def _explained(command: str, error: Exception) -> int:
    """Say what is wrong in one line; the exit code. What nobody foresaw is raised."""
    if isinstance(error, StablechoiceError):
        sys.stderr.write(f"stablechoice {command}: {error}\n")
        return 1
    if isinstance(error, BrokenPipeError):
        _mute()
        return 141
    if isinstance(error, OSError):
        sys.stderr.write(
            f"stablechoice {command}: {error.filename or 'the system'}: {error.strerror or error}; "
            "free space or mend permissions there, then run it again\n"
        )
        return 1
    raise error


def _tell_interrupted(command: str, interruption: BaseException) -> None:
    kept = "" if command in ("doctor", "pull", "verify", "bundle") else "what was answered is kept, "
    said = f"stablechoice {command}{INTERRUPTED}{kept}run it again to continue\n"
    before: BaseException | None = interruption
    while before is not None:
        if isinstance(before, JournalError):
            said = f"stablechoice {command}: {before}\n"
        before = before.__cause__ or before.__context__
    with suppress(OSError):  # a terminal that was closed, or a reader that had the same Ctrl-C
        sys.stderr.write(said)
    _mute()


def _mute() -> None:
    """Let no stream that nobody reads any more be complained of at the end."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


if __name__ == "__main__":
    sys.exit(main())
