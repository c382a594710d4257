"""A cell's file: the same bytes in any order, whole or not at all, and refused when it is not what was written."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablechoice.errors import DataError
from stablechoice.generations import Generation, read, write
from stablechoice.request import Address, Request, Response
from tests.disks import read_only, small_disk

KEY = "0123456789abcdef" * 4


def row(question: str = "q1", rotation: int = 0, text: str = "B", **response: object) -> Generation:
    request = Request(question, Address("direct_mcq", rotation), f"prompt {question} {rotation}")
    return Generation(KEY, request, Response(text, **response))  # type: ignore[arg-type]


texts = st.text(max_size=40)
counts = st.none() | st.integers(0, 2**53)
responses = st.builds(
    Response,
    text=texts,
    status=st.sampled_from(["ok", "empty", "refusal", "content_filter", "request_failed"]),
    finish=st.sampled_from(["stop", "length", "other"]),
    prompt_tokens=counts,
    completion_tokens=counts,
    cached_tokens=counts,
    letter_logprobs=st.none() | st.dictionaries(texts, st.floats(allow_nan=False, allow_infinity=False), max_size=4),
    served_model=st.none() | texts,
    served_provider=st.none() | texts,
    detail=texts,
)
addresses = st.builds(Address, texts, st.integers(0, 25), st.integers(-1, 25), st.integers(0, 9))
requests = st.builds(
    Request,
    question_id=texts,
    address=addresses,
    prompt=texts,
    purpose=st.sampled_from(["answer", "order"]),
    prefill=texts,
    letters=st.lists(texts, max_size=4).map(tuple),
    continuation=texts,
)
rows = st.builds(Generation, st.text("0123456789abcdef", min_size=64, max_size=64), requests, responses)


@settings(deadline=None, max_examples=60)
@given(st.lists(rows, max_size=8, unique_by=lambda one: one.place))
def test_what_was_written_is_read_back_whatever_the_texts(
    tmp_path_factory: pytest.TempPathFactory, many: list[Generation]
) -> None:
    path = tmp_path_factory.mktemp("cell") / "cyclic.jsonl"
    write(path, many)
    assert {one.place: one for one in read(path)} == {one.place: one for one in many}
    first = path.read_bytes()
    write(path, read(path))
    assert path.read_bytes() == first


def test_the_golden_bytes_of_one_row(tmp_path: Path) -> None:
    # Sorted keys; defaults (status ok, finish stop, no prefill) and unknown values (None) are left out.
    path = tmp_path / "cell.jsonl"
    write(path, [row(text="Ä\n", prompt_tokens=7, letter_logprobs={"B": -1e-7, "A": -0.5})])
    assert path.read_bytes().decode() == (
        f'{{"key":"{KEY}","letter_logprobs":{{"A":-0.5,"B":-1e-7}},"option":-1,"prompt":"prompt q1 0",'
        '"prompt_tokens":7,"purpose":"answer","question_id":"q1","repetition":0,"rotation":0,"step":"direct_mcq",'
        '"text":"Ä\\n"}\n'
    )


def test_a_continuation_stands_in_its_row_and_in_no_other(tmp_path: Path) -> None:
    path = tmp_path / "cell.jsonl"
    request = Request("q1", Address("likelihood", 0, 1), "Question: x", continuation=" one")
    write(path, [Generation(KEY, request, Response("", letter_logprobs={" one": -2.5}, completion_tokens=0))])
    assert path.read_bytes().decode() == (
        f'{{"completion_tokens":0,"continuation":" one","key":"{KEY}","letter_logprobs":{{" one":-2.5}},"option":1,'
        '"prompt":"Question: x","purpose":"answer","question_id":"q1","repetition":0,"rotation":0,"step":"likelihood",'
        '"text":""}\n'
    )
    (back,) = read(path)
    assert back.request == request


def test_rows_are_sorted_within_questions_in_the_order_given(tmp_path: Path) -> None:
    # Question z9 comes first in the manifest; its rotations were answered last to first.
    write(tmp_path / "a.jsonl", [row("z9", 2), row("z9", 0), row("a1", 1), row("z9", 1), row("a1", 0)])
    places = [(one.request.question_id, one.request.address.rotation) for one in read(tmp_path / "a.jsonl")]
    assert places == [("z9", 0), ("z9", 1), ("z9", 2), ("a1", 0), ("a1", 1)]


def test_any_order_of_answering_within_questions_gives_the_same_bytes(tmp_path: Path) -> None:
    many = [row(f"q{question}", rotation) for question in range(5) for rotation in range(4)]
    write(tmp_path / "a.jsonl", many)
    for seed in range(5):
        parts = [many[n : n + 4] for n in range(0, 20, 4)]
        for part in parts:
            random.Random(seed).shuffle(part)
        write(tmp_path / "b.jsonl", [one for part in parts for one in part])
        assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()


def test_a_cell_without_requests_of_its_own_is_an_empty_file(tmp_path: Path) -> None:
    write(tmp_path / "direct.jsonl", [])
    assert (tmp_path / "direct.jsonl").read_bytes() == b""
    assert read(tmp_path / "direct.jsonl") == []


def test_two_rows_at_one_place_are_refused_on_writing_and_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="two rows for question q1, step direct_mcq, rotation 0"):
        write(tmp_path / "a.jsonl", [row(), row(text="C")])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("value", [float("nan"), float("-inf")])
def test_a_log_probability_that_json_cannot_hold_is_refused(tmp_path: Path, value: float) -> None:
    with pytest.raises(DataError, match="no finite number"):
        write(tmp_path / "a.jsonl", [row(letter_logprobs={"A": value})])


def test_a_lone_surrogate_is_refused_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"question q1.*cannot be written"):
        write(tmp_path / "a.jsonl", [row(text="\ud800")])


def spoilt(path: Path, number: int, line: bytes) -> None:
    """Three good rows, of which one line is replaced."""
    write(path, [row(rotation=rotation) for rotation in range(3)])
    lines = path.read_bytes().split(b"\n")
    lines[number - 1] = line
    path.write_bytes(b"\n".join(lines))


GOOD = {"question_id": '"q"', "step": '"s"', "rotation": "0", "option": "-1", "repetition": "0", "purpose": '"answer"',
        "key": f'"{KEY}"', "prompt": '"p"', "text": '"t"'}  # fmt: skip


def line_with(**changed: str | None) -> bytes:
    fields = {name: value for name, value in {**GOOD, **changed}.items() if value is not None}
    return ("{" + ",".join(f'"{name}":{value}' for name, value in fields.items()) + "}").encode()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"not json", "not a line of JSON"),
        (b"", "not a line of JSON"),
        (b"\xff\xfe", "not a line of JSON"),
        (b"[1]", "not a JSON object"),
        (line_with(prompt=None), "field 'prompt' is missing"),
        (line_with(latency="3"), "unknown field 'latency'"),
        (line_with(rotation='"0"'), "field 'rotation' must be a whole number"),
        (line_with(rotation="true"), "field 'rotation' must be a whole number"),
        (line_with(key='"abc"'), "field 'key' must be 64 hexadecimal digits"),
        (line_with(status='"fine"'), "field 'status' must be ok or empty"),
        (line_with(letters='["A",1]'), "field 'letters' must be a list of texts"),
        (line_with(letter_logprobs='{"A":null}'), "field 'letter_logprobs' must be numbers by label"),
    ],
)
def test_a_broken_line_is_named_by_file_and_number(tmp_path: Path, line: bytes, said: str) -> None:
    path = tmp_path / "cyclic.jsonl"
    spoilt(path, 2, line)
    with pytest.raises(DataError) as raised:
        read(path)
    assert str(raised.value).startswith(f"{path}:2: {said}")


def test_a_row_that_stands_twice_is_named_with_both_lines(tmp_path: Path) -> None:
    path = tmp_path / "cyclic.jsonl"
    write(path, [row(rotation=0), row(rotation=1)])
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([lines[0], lines[1], lines[0], b""]))
    with pytest.raises(DataError, match=r"cyclic.jsonl:3: .* stands on line 1 already"):
        read(path)


def test_a_file_cut_off_anywhere_in_a_line_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cyclic.jsonl"
    write(path, [row(rotation=0), row(rotation=1)])
    data = path.read_bytes()
    first = data.index(b"\n") + 1
    for length in [*range(1, first), *range(first + 1, len(data), 7)]:
        path.write_bytes(data[:length])
        with pytest.raises(DataError, match=r"cyclic.jsonl:[12]: cut off"):
            read(path)


def test_a_missing_file_says_which_command_writes_it(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"cyclic.jsonl: no such file; `stablechoice generate`"):
        read(tmp_path / "cyclic.jsonl")


def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "64k") as disk:
        write(disk / "a.jsonl", [row()])
        before = (disk / "a.jsonl").read_bytes()
        with pytest.raises(DataError, match="disk is full"):
            write(disk / "a.jsonl", [row(rotation=n, text="x" * 1000) for n in range(200)])
        assert (disk / "a.jsonl").read_bytes() == before
        assert [file.name for file in disk.iterdir()] == ["a.jsonl"]


LIMITED = """
import resource, sys
from pathlib import Path
from stablechoice.errors import DataError
from stablechoice.generations import Generation, write
from stablechoice.request import Address, Request, Response
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
request = Request("q", Address("s"), "p")
try:
    write(Path(sys.argv[1]), [Generation("0" * 64, request, Response("x" * 100_000))])
except DataError as error:
    sys.stdout.write(str(error))
"""


def test_a_file_size_limit_is_explained_and_leaves_nothing(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, tmp_path / "a.jsonl"], capture_output=True, text=True, check=True
    )
    assert "file size limit" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_read_only_folder_is_explained(tmp_path: Path) -> None:
    folder = tmp_path / "sealed"
    folder.mkdir()
    with read_only(folder), pytest.raises(DataError, match="mend the folder's permissions or disk"):
        write(folder / "a.jsonl", [row()])


WRITER = """
import itertools, sys
from pathlib import Path
from stablechoice.generations import Generation, write
from stablechoice.request import Address, Request, Response
for text in itertools.cycle("ab"):
    rows = [Generation("0" * 64, Request("q", Address("s", n), "p" * 500), Response(text)) for n in range(400)]
    write(Path(sys.argv[1]), rows)
    sys.stdout.write("w")
    sys.stdout.flush()
"""


def test_killed_while_writing_leaves_a_whole_file_and_the_next_writer_tidies_up(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    whole = {}
    for text in "ab":
        write(
            path, [Generation("0" * 64, Request("q", Address("s", n), "p" * 500), Response(text)) for n in range(400)]
        )
        whole[text] = path.read_bytes()
    for writes in range(1, 9):
        with subprocess.Popen([sys.executable, "-c", WRITER, path], stdout=subprocess.PIPE) as child:
            assert child.stdout is not None
            child.stdout.read(writes)
            child.kill()
        assert path.read_bytes() in whole.values()
    (tmp_path / f".a.jsonl.{os.getpid() + 1}.tmp").write_bytes(b"half of")
    write(path, [row()])
    assert [file.name for file in tmp_path.iterdir()] == ["a.jsonl"]
    assert len(read(path)) == 1
