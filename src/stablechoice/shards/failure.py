"""What goes wrong with shards."""

from stablechoice.errors import StablechoiceError


class ShardError(StablechoiceError):
    """A shard's copy is missing, damaged or of another plan, or two of them disagree; nothing is merged then."""


class DisagreementError(ShardError):
    """Two journals have different answers to one request: it ran twice, and a person says which run counts."""

    def __init__(self, key: str, text: str, other_text: str, name: str, other_name: str) -> None:
        super().__init__(
            f"request {key}: {name} answered {_shown(text)}, {other_name} answered {_shown(other_text)}: it ran twice. "
            "Keep one of the runs: remove the other's copy (its .json and .sqlite file), or move that journal away, "
            "and run this again"
        )


def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:37]}...")
