"""A model's files from the Hugging Face hub: a pinned revision, local copies first, no remote code."""

from __future__ import annotations

import textwrap
from pathlib import Path

from stablechoice.errors import ModelError

_WANTED = ["*.safetensors", "*.safetensors.index.json", "*.json", "*.jinja", "*.model", "merges.txt", "vocab.txt"]
_UNWANTED = ["*/*"]


def snapshot(repository: str, revision: str) -> Path:
    """Folder of a revision's safetensors and tokenizer.

    A complete local copy is used without asking the network.

    Raises:
        ModelError: the repository or revision does not exist, is gated, or the hub cannot be reached.
    """
    from huggingface_hub import constants, errors, snapshot_download

    if revision == "???":
        raise ModelError(f"{repository}: its revision is open (???); fill in a commit of 40 hex digits in conf/model")

    def fetch(*, local_files_only: bool) -> Path:
        found = snapshot_download(
            repository,
            revision=revision,
            allow_patterns=_WANTED,
            ignore_patterns=_UNWANTED,
            local_files_only=local_files_only,
        )
        return Path(str(found))

    here = f"{repository} at revision {revision}"
    page = f"{constants.ENDPOINT}/{repository}"
    try:
        local = fetch(local_files_only=True)
        if _complete(local):
            return local
    except (errors.LocalEntryNotFoundError, errors.IncompleteSnapshotError):
        pass  # not here yet, or an interrupted download: it is continued
    except errors.HFValidationError as error:
        raise ModelError(f"{repository!r} is no id of the hub (owner/name); mend key 'hub'") from error
    try:
        folder = fetch(local_files_only=False)
    except errors.GatedRepoError as error:
        raise ModelError(f"{here}: is gated; accept its licence at {page} and set HF_TOKEN") from error
    except errors.RepositoryNotFoundError as error:
        raise ModelError(
            f"{here}: no such repository, or it is private; look at {page}, mend key 'hub' or set HF_TOKEN"
        ) from error
    except errors.RevisionNotFoundError as error:
        raise ModelError(f"{here}: the repository has no such revision; mend key 'revision'") from error
    except (errors.HfHubHTTPError, errors.LocalEntryNotFoundError, errors.OfflineModeIsEnabled, OSError) as error:
        reason = textwrap.shorten(str(error), 160, placeholder="…")
        raise ModelError(
            f"{here}: is not in the local cache and the hub cannot be reached ({reason}); fetch it where there is a "
            f"network (its page and licence: {page}), copy the cache here and set HF_HOME to it"
        ) from error
    if not _complete(folder):
        raise ModelError(
            f"{here}: no complete set of safetensors, neither in the local cache nor fetched; "
            "check the network, or choose a revision that has them"
        )
    return folder


def _complete(folder: Path) -> bool:
    from stablechoice.engines.weights import weight_files

    names = weight_files(folder)
    return bool(names) and all((folder / name).is_file() for name in [*names, "config.json"])
