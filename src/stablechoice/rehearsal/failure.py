"""What goes wrong with a rehearsal."""

from stablechoice.errors import StablechoiceError


class RehearsalError(StablechoiceError):
    """A rehearsal's place cannot be used, or one of its steps failed; the message names its log."""
