"""The exception tree. Every message says what is wrong, where, and what to do next."""


class StablechoiceError(Exception):
    """Root of all errors that a user can cause or mend; the command line prints it in one line."""


class ConfigError(StablechoiceError):
    """A configuration names an unknown key, an unknown choice, or leaves a `???` open."""


class OpenError(ConfigError):
    """A configuration leaves a `???` open, which a person must fill in before anything that needs it can run."""


class DataError(StablechoiceError):
    """A question, manifest, generation or observation file breaks its format."""


class ModelError(StablechoiceError):
    """A model or embedder is missing, has another hash than the pinned one, or cannot run here."""


class EngineError(StablechoiceError):
    """An engine stopped and cannot answer further requests; what was answered is kept."""


class JournalError(StablechoiceError):
    """The journal cannot be read or written (locked by another run, disk full, damaged)."""


class PlanError(StablechoiceError):
    """Recorded requests are not the ones that the configuration and code ask today."""


class AnalysisError(StablechoiceError):
    """A measure or table cannot be computed from the observations that are there."""
