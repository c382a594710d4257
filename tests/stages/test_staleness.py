"""What DVC says of stages is told apart: another configuration or code, or files that are only not laid out."""

from __future__ import annotations

from stablechoice.stages.staleness import Staleness

ABSENT = {"changed outs": {"data/s/generations/m/b/cyclic.jsonl": "deleted"}}


def test_a_stage_whose_files_alone_are_away_is_not_stale() -> None:
    read = {"changed deps": {"data/s/generations": "deleted"}}
    found = Staleness.parse({"generate": [ABSENT], "analyse": [read]})
    assert found == Staleness((), ("data/s/generations/m/b/cyclic.jsonl",))


def test_changed_code_configuration_and_commands_make_a_stage_stale() -> None:
    said = {
        "code": [{"changed deps": {"src/code.py": "modified"}}],
        "values": [{"changed deps": {"params.yaml": {"study.seed": "modified"}}}],
        "command": ["changed command"],
        "altered": [{"changed outs": {"data/out": "modified"}}],
        "both": [ABSENT, {"changed deps": {"src/code.py": "modified"}}],
    }
    found = Staleness.parse(said)
    assert found.stale == tuple(said)
    assert found.absent == ("data/s/generations/m/b/cyclic.jsonl",)


def test_nothing_said_is_nothing_stale() -> None:
    assert Staleness.parse({}) == Staleness((), ())
