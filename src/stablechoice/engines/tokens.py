"""How many tokens a request will have, before a model's own tokenizer has counted them."""

from __future__ import annotations

import math

from stablechoice.request import Request

CHARACTERS_A_TOKEN = 3.5
MESSAGE_TOKENS = 12
"""The stated rule: a token for every 3.5 characters, rounded up, and 12 for the chat template around a message.

English has 4 to 4.5 characters a token with the vocabularies of the models of PROTOCOL 7, formulas and numbers fewer:
the rule is meant to be a little high, so that a budget is kept."""


def estimated_tokens(request: Request) -> int:
    """Prompt tokens of a request by the stated rule."""
    characters = len(request.prompt) + len(request.prefill) + len(request.continuation)
    return MESSAGE_TOKENS + math.ceil(characters / CHARACTERS_A_TOKEN)
