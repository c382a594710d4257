"""Times local inference against other ways of asking the same prompts of the same model, in one run.

Each way runs in a process of its own, so that peak memory is its own. Other programs come from environments of their
own and take part only where a variable names one: LM_EVAL_PYTHON (a Python with lm-evaluation-harness), LLAMA_PYTHON
(one with llama-cpp-python; 4-bit weights, so texts differ), ONNX_PYTHON (one with optimum's ONNX Runtime). The share of
the limit is the time that the tokens which must be computed take at the best rates measured here, over the time taken.
On a shared machine read the ratios.

Run: PYTHONPATH=src python bench/bench_inference.py [--workload cyclic] [--dtype float32] [--questions 10] [--cap 64]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from asked import ROOT, WORKLOADS, by_generate, model_folder, model_keys, requests

PADDED = 32
SWITCHES = ("share_prefixes", "sort_prompts", "refill_rows", "last_logits")


def by_engine(chosen: argparse.Namespace, **arguments: Any) -> dict[str, Any]:
    from stablechoice.engines.local import LocalEngine
    from stablechoice.request import Decoding

    prompts = requests(chosen.workload, chosen.questions)
    engine = LocalEngine(model=model_keys(), dtype=chosen.dtype, **arguments)
    decoding = Decoding(0.0, chosen.cap)
    list(engine.answer(prompts[:1], decoding))  # loads the model
    before = dict(engine.facts())
    start = time.perf_counter()
    found = dict(engine.answer(prompts, decoding))
    seconds = time.perf_counter() - start
    facts = engine.facts()
    counted = {"read": "prompt_tokens", "written": "written_tokens", "computed": "computed_prompt_tokens"}
    return {
        "seconds": seconds,
        "texts": [found[n].text for n in range(len(prompts))],
        **{name: facts[fact] - before[fact] for name, fact in counted.items()},
    }


def one_by_one(chosen: argparse.Namespace, batch: int = 1) -> dict[str, Any]:
    asked = requests(chosen.workload, chosen.questions)
    return by_generate(model_folder(), asked, chosen.cap, dtype=chosen.dtype, device="cpu", batch=batch)


_LM_EVAL = """
import json, sys, time
from lm_eval import simple_evaluate
from lm_eval.models.huggingface import HFLM
from lm_eval.tasks import TaskManager
folder, dtype, batch, tasks = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
start = time.perf_counter()
model = HFLM(pretrained=folder, dtype=dtype, device="cpu", batch_size=batch)
def ask(limit):
    return simple_evaluate(model=model, tasks=["asked"], task_manager=TaskManager(include_path=tasks), limit=limit,
        apply_chat_template=True, log_samples=True, bootstrap_iters=0)
ask(1)
plain, spent = model.generate_until, []
def timed(*given, **named):
    began = time.perf_counter()
    made = plain(*given, **named)
    spent.append(time.perf_counter() - began)
    return made
model.generate_until = timed
found = sorted(ask(None)["samples"]["asked"], key=lambda one: one["doc_id"])
whole = time.perf_counter() - start
texts = [one["resps"][0][0] for one in found]
print(json.dumps({"seconds": sum(spent), "start": whole - sum(spent), "texts": texts}))
"""


def by_lm_eval(chosen: argparse.Namespace) -> dict[str, Any]:
    """lm-evaluation-harness: the prompts as a local task, timed like the other ways once the model is loaded and warm.

    Counted is what it spends in generating; what it needs before and after (tasks, data, metrics) goes to `start`.
    """
    asked = requests(chosen.workload, chosen.questions)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = "".join(json.dumps({"prompt": request.prompt, "target": "A"}) + "\n" for request in asked)
        (folder / "asked.jsonl").write_text(rows, encoding="utf-8")
        task = {
            "task": "asked",
            "dataset_path": "json",
            "dataset_kwargs": {"data_files": {"test": str(folder / "asked.jsonl")}},
            "test_split": "test",
            "output_type": "generate_until",
            "doc_to_text": "{{prompt}}",
            "doc_to_target": "{{target}}",
            "generation_kwargs": {"max_gen_toks": chosen.cap, "do_sample": False, "until": []},
            "metric_list": [{"metric": "exact_match"}],
        }
        (folder / "asked.yaml").write_text(json.dumps(task), encoding="utf-8")
        arguments = (str(model_folder()), chosen.dtype, str(PADDED), name)
        return by_program(_LM_EVAL, os.environ["LM_EVAL_PYTHON"], chosen, *arguments)


_LLAMA = """
import json, sys, time
from llama_cpp import Llama
file, cap, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
prompts = json.load(sys.stdin)
model = Llama(file, n_ctx=2048, n_threads=threads, verbose=False)
def ask(prompt):
    return model.create_chat_completion([{"role": "user", "content": prompt}], temperature=0.0, max_tokens=cap)
ask(prompts[0])
start = time.perf_counter()
found = [ask(prompt) for prompt in prompts]
print(json.dumps({"seconds": time.perf_counter() - start,
    "texts": [one["choices"][0]["message"]["content"] for one in found],
    "read": sum(one["usage"]["prompt_tokens"] for one in found),
    "written": sum(one["usage"]["completion_tokens"] for one in found)}))
"""

_ONNX = """
import json, sys, time
from optimum.onnxruntime import ORTModelForCausalLM
from transformers import PreTrainedTokenizerFast
folder, cap = sys.argv[1], int(sys.argv[2])
prompts = json.load(sys.stdin)
tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)  # its own class may be newer than this environment
model = ORTModelForCausalLM.from_pretrained(folder, export=True)
def ask(prompt):
    turn = [{"role": "user", "content": prompt}]
    ids = tokenizer.apply_chat_template(turn, add_generation_prompt=True, return_tensors="pt", return_dict=True)
    ids.pop("token_type_ids", None)
    read = ids["input_ids"].shape[1]
    return model.generate(**ids, do_sample=False, max_new_tokens=cap)[0, read:], read
ask(prompts[0])
start = time.perf_counter()
found = [ask(prompt) for prompt in prompts]
print(json.dumps({"seconds": time.perf_counter() - start,
    "texts": [tokenizer.decode(new, skip_special_tokens=True) for new, _ in found],
    "read": sum(read for _, read in found), "written": sum(len(new) for new, _ in found)}))
"""


def by_program(program: str, python: str, chosen: argparse.Namespace, *arguments: str) -> dict[str, Any]:
    """Another program's answers, from an environment of its own."""
    prompts = json.dumps([request.prompt for request in requests(chosen.workload, chosen.questions)])
    command = [python, "-c", program, *arguments]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONPATH": ""}
    done = subprocess.run(command, input=prompts, text=True, check=True, stdout=subprocess.PIPE, env=environment)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def by_llama(chosen: argparse.Namespace) -> dict[str, Any]:
    from stablechoice.engines.weights import package_file

    keys = model_keys()
    file = str(package_file(keys["package"], keys["file"]))
    return by_program(_LLAMA, os.environ["LLAMA_PYTHON"], chosen, file, str(chosen.cap), str(chosen.threads))


def by_onnx(chosen: argparse.Namespace) -> dict[str, Any]:
    return by_program(_ONNX, os.environ["ONNX_PYTHON"], chosen, str(model_folder()), str(chosen.cap))


def best_rates(chosen: argparse.Namespace) -> dict[str, Any]:
    """The best tokens per second that this machine reads and writes at, over several sizes of pack and batch."""
    from stablechoice.engines import linear
    from stablechoice.engines.batching import Prompt, Wave
    from stablechoice.engines.checkpoint import load
    from stablechoice.engines.greedy import Greedy

    model = load(model_folder(), chosen.dtype, "cpu").model
    linear.pack_linears(model)
    reading, writing = {}, {}
    for size in (256, 512):
        greedy = Greedy(model, frozenset(), referee=None, pack_tokens=size, share=False)
        prompts = tuple(Prompt(n, tuple(range(n + 2, n + 66)), 1, "") for n in range(16))
        reading[size] = max(16 * 64 / _seconds(greedy, Wave(prompts, 16, 66)) for _ in range(2))
    for rows in (48, 96):
        greedy = Greedy(model, frozenset(), referee=None, pack_tokens=512, share=False)
        prompts = tuple(Prompt(n, (n + 2, 5), 33, "") for n in range(rows))
        # The first token comes with the prompt; what is left are steps alone, but for a prompt of two tokens.
        writing[rows] = max(rows * 33 / _seconds(greedy, Wave(prompts, rows, 48)) for _ in range(2))
    return {"reading": reading, "writing": writing}


def _seconds(greedy: Any, wave: Any) -> float:
    start = time.perf_counter()
    list(greedy.write(wave))
    return time.perf_counter() - start


WAYS: dict[str, Callable[[argparse.Namespace], dict[str, Any]]] = {
    "generate, one by one": one_by_one,
    f"generate, padded {PADDED}": lambda chosen: one_by_one(chosen, PADDED),
    "lm-evaluation-harness": by_lm_eval,
    "llama.cpp, one by one": by_llama,
    "onnx, one by one": by_onnx,
    **{f"engine, {name} off": lambda chosen, name=name: by_engine(chosen, **{name: False}) for name in SWITCHES},
    "engine": by_engine,
}
NEEDS = {
    "lm-evaluation-harness": "LM_EVAL_PYTHON",
    "llama.cpp, one by one": "LLAMA_PYTHON",
    "onnx, one by one": "ONNX_PYTHON",
}
RATES = "best rates"


def measure(way: str, chosen: argparse.Namespace) -> None:
    """One way, in this process; prints JSON."""
    from stablechoice.engines.threads import wait_patiently

    wait_patiently()
    import torch

    torch.set_num_threads(chosen.threads)
    measured = best_rates(chosen) if way == RATES else WAYS[way](chosen)
    used = [resource.getrusage(who).ru_maxrss / 1024 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    print(json.dumps({**measured, "peak_mib": max(used)}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workload", choices=list(WORKLOADS), default="mixed")
    parser.add_argument("--dtype", choices=["float32", "bfloat16"], default="float32")
    parser.add_argument("--questions", type=int, default=10)
    parser.add_argument("--cap", type=int, default=64)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--ways", nargs="*", choices=list(WAYS))
    parser.add_argument("--out", type=Path, help="write the figures as JSON, too")
    parser.add_argument("--measure", choices=[*WAYS, RATES], help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.measure:
        measure(chosen.measure, chosen)
        return
    ways = [way for way in chosen.ways or WAYS if way not in NEEDS or os.environ.get(NEEDS[way])]
    # On a shared machine the best is what both ends of the run can show.
    before, results, after = _apart(RATES, chosen), {way: _apart(way, chosen) for way in ways}, _apart(RATES, chosen)
    figures = report(results, [before, after], chosen)
    if chosen.out:
        chosen.out.parent.mkdir(parents=True, exist_ok=True)
        chosen.out.write_text(json.dumps(figures, indent=1, sort_keys=True) + "\n", encoding="utf-8", newline="\n")


def _apart(way: str, chosen: argparse.Namespace) -> dict[str, Any]:
    command = [sys.executable, __file__, "--measure", way, "--workload", chosen.workload, "--dtype", chosen.dtype]
    for name in ("questions", "cap", "threads"):
        command += [f"--{name}", str(getattr(chosen, name))]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def report(
    results: dict[str, dict[str, Any]], rates: list[dict[str, Any]], chosen: argparse.Namespace
) -> dict[str, dict[str, Any]]:
    """Print a table; returns its figures."""
    reading, writing = (max(rate for one in rates for rate in one[kind].values()) for kind in ("reading", "writing"))
    first = next(iter(results.values()))
    count = len(first["texts"])
    print(
        f"{chosen.workload}: {chosen.questions} questions, {count} requests, cap {chosen.cap}, {chosen.dtype}, "
        f"{chosen.threads} threads; best rates: {reading:.0f} tokens/s read, {writing:.0f} written; "
        "× and equal compare with the first way"
    )
    print(f"{'way':28}{'seconds':>9}{'×':>7}{'questions/s':>13}{'tokens/s':>10}{'of limit':>10}{'equal':>10}{'MiB':>7}")
    figures: dict[str, dict[str, Any]] = {"best": {"reading": reading, "writing": writing}}
    for way, one in results.items():
        seconds = one["seconds"]
        equal = sum(text == other for text, other in zip(one["texts"], first["texts"], strict=True))
        tokens = one["read"] + one["written"] if "written" in one else None
        limit = one["computed"] / reading + one["written"] / writing if "computed" in one else None
        figures[way] = {
            "seconds": round(seconds, 2),
            "start": round(one.get("start", 0.0), 2),
            "times": round(first["seconds"] / seconds, 3),
            "questions_per_second": round(chosen.questions / seconds, 3),
            "tokens_per_second": None if tokens is None else round(tokens / seconds, 1),
            "share_of_limit": None if limit is None else round(limit / seconds, 3),
            "equal_texts": equal,
            "texts": count,
            "peak_mib": round(one["peak_mib"]),
        }
        made = figures[way]
        shown = [made["tokens_per_second"], made["share_of_limit"]]
        cells = ["-" if value is None else f"{value:.2f}" if value < 10 else f"{value:.0f}" for value in shown]
        print(
            f"{way:28}{seconds:9.1f}{made['times']:7.2f}{made['questions_per_second']:13.2f}{cells[0]:>10}{cells[1]:>10}"
            f"{f'{equal}/{count}':>10}{made['peak_mib']:7}"
        )
    return figures


if __name__ == "__main__":
    main()
