"""Times the OpenAI engine with driver and journal against a bare HTTP loop that makes the same posts in the same run.

A loopback server in a process of its own answers at once. Run: PYTHONPATH=src:. python bench/bench_api_overhead.py
[--requests 20000] [--concurrency 64] [--rounds 4]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import sys
import tempfile
import time
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

import httpx2

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]  # the loopback server lives with the tests
# ruff: noqa: E402

from stablechoice.cell_name import CellName
from stablechoice.cell_plan import CellPlan
from stablechoice.driver import run
from stablechoice.engines.openai_api import OpenAIEngine
from stablechoice.journal import Journal
from stablechoice.progress import Advance
from stablechoice.prompts import Prompts
from stablechoice.questions.question import Question, question_id
from stablechoice.request import Decoding, Request
from stablechoice.strategies.cyclic import Cyclic
from tests.loopback.provider import Provider

CYCLIC = Cyclic("Cyclic", "direct_mcq", "cyclic_permutation")
DECODING = Decoding(0.0, 64)


def serve(port: Any, ended: Event) -> None:
    with Provider("A{:.0}".format, remember=False) as provider:
        port.value = provider.port
        ended.wait()


def questions(count: int) -> list[Question]:
    made = []
    for number in range(count):
        text, options = f"Which number is {number}?", tuple(str(number + n) for n in range(4))
        made.append(Question(question_id("numbers", text, options), "numbers", text, options, 0))
    return made


def resident() -> float:
    """Resident memory of this process in MiB."""
    return int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


async def bare(url: str, bodies: list[bytes], concurrency: int) -> float:
    """Seconds of a plain loop: the same posts, the answer parsed, nothing kept."""
    waiting = iter(bodies)
    headers = {"authorization": "Bearer x", "content-type": "application/json"}

    async def work(client: httpx2.AsyncClient) -> None:
        for body in waiting:
            response = await client.post(f"{url}/chat/completions", content=body, headers=headers)
            json.loads(response.content)["choices"][0]["message"]["content"]

    async with httpx2.AsyncClient(limits=httpx2.Limits(max_connections=concurrency)) as client:
        start = time.perf_counter()
        await asyncio.gather(*(work(client) for _ in range(concurrency)))
        return time.perf_counter() - start


def ours(url: str, count: int, concurrency: int, folder: Path) -> tuple[float, list[tuple[int, float]]]:
    """Seconds of driver, engine and journal; resident memory on the way."""
    model = {"key": "tiny", "root": str(folder), "served_as": "tiny-1"}
    engine = OpenAIEngine(model=model, name="loopback", base_url=url, limits={"concurrency": concurrency})
    prompts = Prompts.load(ROOT / "conf" / "prompt" / "paper")
    asked = questions(count // 4)
    cell = CellPlan(CellName("tiny", "numbers", "cyclic"), CYCLIC, asked, prompts, engine.identity(), DECODING)
    memory: list[tuple[int, float]] = []

    def watch(advance: Advance) -> None:
        if advance.asked and advance.asked % (count // 10) == 0 and advance.asked not in dict(memory):
            memory.append((advance.asked, resident()))

    with Journal.open(folder / "answers.sqlite") as journal:
        start = time.perf_counter()
        report = run([cell], journal, engine, progress=watch)
        seconds = time.perf_counter() - start
        assert not report.incomplete
        assert journal.answer_count() == count
    return seconds, memory


def bodies(count: int, folder: Path) -> list[bytes]:
    """The very bodies that the engine posts."""
    prompts = Prompts.load(ROOT / "conf" / "prompt" / "paper")
    model = {"key": "tiny", "root": str(folder), "served_as": "tiny-1"}
    engine = OpenAIEngine(model=model, name="loopback", base_url="http://127.0.0.1:9")
    made: list[bytes] = []
    for question in questions(count // 4):
        requests: list[Request] = next(CYCLIC.ask(question, prompts))  # type: ignore[assignment]
        made += [json.dumps(engine.payload(request, DECODING)).encode() for request in requests]
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=4)
    told = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    port, ended = context.Value("i", 0), context.Event()
    server = context.Process(target=serve, args=(port, ended), daemon=True)
    server.start()
    while not port.value:
        time.sleep(0.01)
    url = f"http://127.0.0.1:{port.value}/v1"
    share = told.requests // told.rounds // 4 * 4
    totals = {"bare loop": [0.0, 0.0], "engine": [0.0, 0.0]}  # wall seconds, CPU seconds of this process
    try:
        with tempfile.TemporaryDirectory() as folder:
            ours(url, 400, told.concurrency, Path(folder))  # imports and connections once
            posts = bodies(share, Path(folder))
        for _ in range(told.rounds):  # by turns, so that a busy machine disturbs both alike
            with tempfile.TemporaryDirectory() as folder:
                start = time.process_time()
                totals["bare loop"][0] += asyncio.run(bare(url, posts, told.concurrency))
                totals["bare loop"][1] += time.process_time() - start
                start = time.process_time()
                seconds, memory = ours(url, share, told.concurrency, Path(folder))
                totals["engine"][0] += seconds
                totals["engine"][1] += time.process_time() - start
        count = share * told.rounds
        sys.stdout.write(f"{count} requests, {told.concurrency} at once, in {told.rounds} turns\n")
        for name, (wall, cpu) in totals.items():
            sys.stdout.write(f"  {name:9} {count / wall:6.0f} requests/s, {1000 * cpu / count:.2f} ms CPU a request\n")
        (bare_wall, bare_cpu), (wall, cpu) = totals["bare loop"], totals["engine"]
        sys.stdout.write(
            f"  engine / bare loop: {bare_wall / wall:.2f} of its speed, {cpu / bare_cpu:.2f} of its CPU\n"
        )
        shown = ", ".join(f"{done}: {size:.1f}" for done, size in memory)
        sys.stdout.write(f"  resident MiB after so many answers of the last turn: {shown}\n")
    finally:
        ended.set()
        server.join(5)


if __name__ == "__main__":
    main()
