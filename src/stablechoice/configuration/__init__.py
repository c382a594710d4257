"""Configuration: Hydra composes, dataclasses check, errors name the file, the key and what is allowed."""

from stablechoice.configuration.checking import choices
from stablechoice.configuration.configuration import Configuration, Model
from stablechoice.configuration.study import Repeats, Study

__all__ = ["Configuration", "Model", "Repeats", "Study", "choices"]
