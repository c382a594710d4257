"""Answers a small study at a loopback address with everything logged; run as a program by the test of key hygiene.

python -m tests.loopback.spill PROTOCOL ADDRESS FOLDER
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Any

from stablechoice.driver import run
from stablechoice.engines.anthropic_api import AnthropicEngine
from stablechoice.engines.openai_api import OpenAIEngine
from stablechoice.journal import Journal
from tests.answering import cell, write_cells
from tests.loopback.asking import LIMITS, VARIABLE


def main(protocol: str, address: str, folder: Path) -> None:
    logging.basicConfig(level=logging.DEBUG, filename=folder / "run.log", force=True)
    model = {"key": "tiny", "root": str(folder), "served_as": "tiny-1"}
    options: dict[str, Any] = {"name": "loopback", "key_variable": VARIABLE, "limits": LIMITS}
    engine: OpenAIEngine | AnthropicEngine
    if protocol == "openai":
        engine = OpenAIEngine(model=model, base_url=f"{address}/v1", **options)
    else:
        engine = AnthropicEngine(model=model, base_url=address, **options)
    logging.info("%r %s", engine, vars(engine))
    with Journal.open(folder / "answers.sqlite") as journal:
        try:
            run([cell("cyclic", identity=engine.identity())], journal, engine)
        finally:
            logging.info("%s %s %s", engine.facts(), engine.identity(), vars(engine))
            logging.info("%s", journal.events())
        write_cells(journal, folder)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
