"""stablechoice: what a language model answers to a multiple-choice question, and how stably."""

__version__ = "0.1.0"
