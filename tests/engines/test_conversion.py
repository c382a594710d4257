"""A GGUF file becomes a checked folder of safetensors once, whole or not at all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from stablechoice.engines import conversion
from stablechoice.engines.fingerprint import Fingerprints
from stablechoice.errors import ModelError
from tests.tiny_model import save_tiny_gguf


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    path = tmp_path_factory.mktemp("gguf") / "tiny.gguf"
    return path, save_tiny_gguf(path)


@pytest.fixture
def converted(source: tuple[Path, str], tmp_path: Path) -> Path:
    target = tmp_path / "models" / "tiny-abc"
    conversion.convert(*source, target)
    return target


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_folder_holds_weights_tokenizer_template_and_their_hashes(
    source: tuple[Path, str], converted: Path
) -> None:
    expected = {"config.json", "model.safetensors", "tokenizer.json", "chat_template.jinja", "manifest.json"}
    assert expected <= set(names(converted))
    conversion.check(converted, source[1], Fingerprints(converted.parent))
    from transformers import AutoModelForCausalLM, AutoTokenizer

    before = AutoModelForCausalLM.from_pretrained(source[0].parent, gguf_file=source[0].name)
    after = AutoModelForCausalLM.from_pretrained(converted)
    for (name, one), (_, other) in zip(before.named_parameters(), after.named_parameters(), strict=True):
        assert one.equal(other), name
    assert AutoTokenizer.from_pretrained(converted)("ab c")["input_ids"]


def test_converting_twice_gives_the_same_bytes(source: tuple[Path, str], converted: Path, tmp_path: Path) -> None:
    other = tmp_path / "other" / "tiny-abc"
    conversion.convert(*source, other)
    assert names(other) == names(converted)
    assert all((other / name).read_bytes() == (converted / name).read_bytes() for name in names(other))


def test_a_conversion_that_comes_second_leaves_the_first_one_standing(
    source: tuple[Path, str], converted: Path
) -> None:
    marker = converted / "config.json"
    written = marker.stat().st_mtime_ns
    conversion.convert(*source, converted)
    assert marker.stat().st_mtime_ns == written
    assert names(converted.parent) == [converted.name]


def test_a_kill_in_the_middle_leaves_nothing_that_looks_whole(source: tuple[Path, str], tmp_path: Path) -> None:
    target = tmp_path / "models" / "tiny-abc"
    # The child dies where transformers is about to save the tokenizer, when the weights are on disk already.
    child = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from transformers import PreTrainedTokenizerBase\n"
        "from stablechoice.engines.conversion import convert\n"
        "PreTrainedTokenizerBase.save_pretrained = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)\n"
        "convert(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))\n"
    )
    arguments = [str(source[0]), source[1], str(target)]
    done = subprocess.run([sys.executable, "-c", child, *arguments], env=os.environ, capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    (partial,) = target.parent.iterdir()
    assert partial.name.endswith(".partial")
    assert (partial / "model.safetensors").is_file()
    assert not target.exists()
    conversion.convert(*source, target)
    assert names(target.parent) == [target.name], "what the killed process left is gone"
    conversion.check(target, source[1], Fingerprints(target.parent))


def test_a_changed_missing_or_foreign_file_is_named(source: tuple[Path, str], converted: Path) -> None:
    prints = Fingerprints(converted.parent)
    with pytest.raises(ModelError, match=f"was made from a file with sha256 {source[1]}, pinned is 00"):
        conversion.check(converted, "00", prints)
    template = converted / "chat_template.jinja"
    template.write_text("changed", encoding="utf-8")
    with pytest.raises(ModelError, match=r"chat_template\.jinja: sha256 is .* delete the folder"):
        conversion.check(converted, source[1], prints)
    template.unlink()
    with pytest.raises(ModelError, match=r"chat_template\.jinja: is missing; delete the folder"):
        conversion.check(converted, source[1], prints)
    (converted / "manifest.json").write_text("{", encoding="utf-8")
    with pytest.raises(ModelError, match=r"manifest\.json: cannot be read"):
        conversion.check(converted, source[1], prints)


def test_a_file_that_is_no_model_is_one_sentence_and_leaves_nothing(tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(60))
    with pytest.raises(ModelError, match=r"broken\.gguf: is no model that transformers can convert") as caught:
        conversion.convert(broken, "00", tmp_path / "models" / "broken-00")
    assert "\n" not in str(caught.value)
    assert names(tmp_path / "models") == []


def test_a_place_that_cannot_be_written_says_so(source: tuple[Path, str], tmp_path: Path) -> None:
    (tmp_path / "models").write_text("a file where the folder should be", encoding="utf-8")
    with pytest.raises(ModelError, match=r"cannot be written .* STABLECHOICE_MODELS"):
        conversion.convert(*source, tmp_path / "models" / "tiny-abc")
