"""A GGUF file becomes a folder of safetensors, once: loading it takes half a second thereafter instead of fifteen."""

from __future__ import annotations

import io
import json
import os
import shutil
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from importlib import metadata
from pathlib import Path

from stablechoice.engines.fingerprint import Fingerprints, file_sha256
from stablechoice.errors import ModelError

_MANIFEST = "manifest.json"
_PARTIAL = ".partial"


def convert(source: Path, source_sha256: str, target: Path) -> None:
    """Write weights (float32, so that dequantised values stay exact), tokenizer and chat template of a GGUF file.

    Everything is written into a folder beside the target and renamed at the end: a kill at any instant leaves no
    target, and what it left lying is removed by the next conversion. Of two conversions at once the first one stands.

    Args:
        source_sha256: the source's hash, already checked; it goes into the manifest.

    Raises:
        ModelError: the file is no GGUF model that transformers can read, or the disk is full or read-only.
    """
    partial = target.parent / f".{target.name}.{os.getpid()}{_PARTIAL}"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _clear(target)
        partial.mkdir()
        with _explained(source, target):
            _write(source, partial)
        hashes = {path.name: file_sha256(path) for path in sorted(partial.iterdir())}
        manifest = {"source_sha256": source_sha256, "transformers": metadata.version("transformers"), "files": hashes}
        text = json.dumps(manifest, sort_keys=True, indent=1) + "\n"
        (partial / _MANIFEST).write_text(text, encoding="utf-8", newline="\n")
        _publish(partial, target)
    except OSError as error:
        raise ModelError(
            f"{target}: cannot be written ({error.strerror or error}); free about six times the size of {source.name}, "
            "or name another folder in STABLECHOICE_MODELS"
        ) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def check(target: Path, source_sha256: str, fingerprints: Fingerprints) -> None:
    """Compare a converted folder with its manifest.

    Raises:
        ModelError: the manifest is missing or of another source, or a file is missing or has changed.
    """
    advice = f"delete the folder {target}, it is made anew from its package"
    try:
        manifest = json.loads((target / _MANIFEST).read_text(encoding="utf-8"))
        source, files = manifest["source_sha256"], dict(manifest["files"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{target / _MANIFEST}: cannot be read ({error}); {advice}") from error
    if source != source_sha256:
        raise ModelError(f"{target}: was made from a file with sha256 {source}, pinned is {source_sha256}; {advice}")
    for name, pinned in sorted(files.items()):
        if not (target / name).is_file():
            raise ModelError(f"{target / name}: is missing; {advice}")
        fingerprints.check(target / name, str(pinned), advice)


def _write(source: Path, folder: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()
    here, name = str(source.parent), source.name
    tokenizer = AutoTokenizer.from_pretrained(here, gguf_file=name, trust_remote_code=False)
    with redirect_stderr(io.StringIO()):  # its bar over the tensors, which the switch above does not reach
        model = AutoModelForCausalLM.from_pretrained(here, gguf_file=name, dtype=torch.float32, trust_remote_code=False)
    # Weights are plain float32 by now, but saving insists on a quantiser while the model remembers its GGUF.
    model.hf_quantizer = None
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


@contextmanager
def _explained(source: Path, target: Path) -> Iterator[None]:
    """Turn what transformers, gguf and safetensors raise into one sentence; disk errors pass to `convert`."""
    from safetensors import SafetensorError

    try:
        yield
    except SafetensorError as error:
        raise OSError(str(error)) from error
    except ImportError as error:
        raise ModelError(f"{source}: a package that reads it is missing ({error}); install the extra `cpu`") from error
    except (ValueError, KeyError, RuntimeError, TypeError, IndexError) as error:
        reason = textwrap.shorten(str(error), 200, placeholder="…")
        raise ModelError(f"{source}: is no model that transformers can convert to {target} ({reason})") from error


def _publish(partial: Path, target: Path) -> None:
    try:
        partial.rename(target)
    except OSError:
        # Another process was faster; its folder is checked like any other before it is used.
        if not (target / _MANIFEST).is_file():
            raise


def _clear(target: Path) -> None:
    """Remove what killed conversions of this target left lying."""
    for left in target.parent.glob(f".{target.name}.*{_PARTIAL}"):
        owner = left.name.removesuffix(_PARTIAL).rpartition(".")[2]
        if not (owner.isdigit() and _alive(int(owner))):
            shutil.rmtree(left, ignore_errors=True)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
