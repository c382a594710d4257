"""Data inside a page: text that no parser can mistake for markup or script."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

_AS_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


def script_json(value: Any) -> str:
    """JSON that may stand inside `<script>`: pure ASCII, without `<`, `>`, `&`.

    So neither `</script>` nor `<!--` can end or change the element, and U+2028, U+2029 and lone surrogates, which
    break scripts or encodings, are escapes.

    Raises:
        ValueError: a number is not finite.
    """
    dumped = json.dumps(value, ensure_ascii=True, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return dumped.translate(_AS_ESCAPES)


def content_hash(text: str) -> str:
    """What a content security policy calls an inline script or style of this text: `'sha256-…'`."""
    digest = base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
    return f"'sha256-{digest}'"
