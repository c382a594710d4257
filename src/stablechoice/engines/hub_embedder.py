"""Sentence embedders of the model hub, at a pinned revision (Qwen3-Embedding-0.6B in [N]'s ablation)."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

from stablechoice.engines.embedder import SentenceEmbedder
from stablechoice.errors import ConfigError, ModelError

_REVISION = re.compile(r"[0-9a-f]{40}")
_WANTED = ["*.json", "*.safetensors", "*.txt", "*.model", "*/config.json"]


class HubSentenceEmbedder(SentenceEmbedder):
    """A repository in the layout of sentence-transformers; its own code is never run.

    Only the local cache is looked at: what is scored must not depend on a network.

    Args:
        hub: the repository's id, or a folder of the same layout.
        revision: the full commit.
        root, remember: as of `SentenceEmbedder`.

    Raises:
        ConfigError: the revision is a branch, a tag or shortened.
        ModelError: at first use, where the files are not at hand.
    """

    def __init__(self, *, hub: str, revision: str, root: str | None = None, remember: bool = True) -> None:
        if not _REVISION.fullmatch(str(revision)):
            raise ConfigError(
                f"embedder {hub}: revision is {revision!r}; give the full commit (40 hex digits), since a branch or a "
                "short hash may mean other weights tomorrow"
            )
        self._hub = hub
        # Vectors are kept by what pins the weights: here that is the commit.
        super().__init__(
            package=hub, file="model.safetensors", sha256=revision, revision=revision, root=root, remember=remember
        )

    def identity(self) -> dict[str, str]:
        """What pins the embedder."""
        return {"hub": self._hub, "revision": self._revision}

    def _weights(self) -> Path:
        """A file of the folder that holds the model."""
        if self._checked is None:
            self._checked = self._folder_of_model() / "config.json"
        return self._checked

    def _folder_of_model(self) -> Path:
        if Path(self._hub).is_dir():
            return Path(self._hub)
        where = f"embedder {self._hub} at revision {self._revision}"
        try:
            from huggingface_hub import errors, snapshot_download
        except ImportError as error:
            raise ModelError(f"{where}: the package `huggingface_hub` is missing; run `make install`") from error
        try:
            found = snapshot_download(self._hub, revision=self._revision, allow_patterns=_WANTED, local_files_only=True)
        except (errors.LocalEntryNotFoundError, errors.HFValidationError, OSError) as error:
            reason = textwrap.shorten(str(error), 160, placeholder="…")
            raise ModelError(
                f"{where}: is not in the local cache ({reason}); fetch it where there is a network "
                f"(`hf download {self._hub} --revision {self._revision}`) and copy HF_HOME"
            ) from error
        return Path(str(found))
