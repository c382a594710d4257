"""A model in memory: weights, tokenizer, chat template, and what they say about themselves."""

from __future__ import annotations

import hashlib
import inspect
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stablechoice.errors import ModelError

if TYPE_CHECKING:
    from stablechoice.engines.quantization import Quantization

DTYPES = ("float32", "bfloat16", "float16")
TEMPLATE_DATE = "26 Jul 2024"
"""Some templates print today's date; this fixed one is Llama 3.1's own default, so that a prompt never ages."""

_NEEDED = {"cache", "attention_mask", "position_ids", "logits_to_keep"}
_ATTENTIONS = {"full_attention", "sliding_attention"}


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A loaded model.

    Attributes:
        ends: tokens that end the model's turn: all of the generation configuration's, and the tokenizer's.
        context: tokens that a prompt and its answer may have together.
    """

    folder: Path
    model: Any
    tokenizer: Any
    ends: frozenset[int]
    context: int

    def chat(self, message: str, prefill: str = "") -> str:
        """One user message in the model's own template, ready for the assistant's turn.

        The template does what it does with a single user message: if it puts a system prompt of its own first (as
        SmolLM2's and Qwen2.5's do), that stays, since it is how the model is meant to be asked; `facts` shows it.
        """
        turn = [{"role": "user", "content": message}]
        text = self.tokenizer.apply_chat_template(
            turn, tokenize=False, add_generation_prompt=True, date_string=TEMPLATE_DATE
        )
        return str(text) + prefill

    def tokens(self, texts: list[str]) -> list[tuple[int, ...]]:
        """Tokens of templated texts; the template has written a beginning-of-text token if the model wants one."""
        if not texts:
            return []
        return [tuple(ids) for ids in self.tokenizer(texts, add_special_tokens=False)["input_ids"]]

    def parted(self, context: str, continuation: str) -> tuple[tuple[int, ...], int]:
        """Tokens of a plain text, and how many of them are the context's.

        The text is tokenised whole, since that is how the model knows it, and what its context alone would give is
        taken to be the context; white space at the context's end belongs to the continuation; a beginning-of-text token
        stands before it if the tokenizer writes one by itself (lm-evaluation-harness's rules, `_encode_pair`).
        """
        bare = context.rstrip()
        whole = self.tokenizer(context + continuation)["input_ids"]
        # A continuation that melts into the context's last token is scored with that token.
        return tuple(whole), min(len(self.tokenizer(bare)["input_ids"]), len(whole) - 1)

    def text(self, tokens: tuple[int, ...]) -> str:
        """An answer's text, raw but for special tokens."""
        return str(self.tokenizer.decode(list(tokens), skip_special_tokens=True, clean_up_tokenization_spaces=False))

    def letter_tokens(self, letters: tuple[str, ...]) -> dict[str, list[int]]:
        """The single tokens that write a letter: bare and with a leading space (PROTOCOL 4, PriDe).

        Raises:
            ModelError: a letter splits into several tokens.
        """
        found: dict[str, list[int]] = {}
        for letter in letters:
            written = [self.tokenizer.encode(form, add_special_tokens=False) for form in (letter, f" {letter}")]
            single = sorted({ids[0] for ids in written if len(ids) == 1})
            if not single:
                raise ModelError(
                    f"{self.folder.name}: the tokenizer splits the letter {letter!r} into several tokens, so it has no "
                    "probability of its own; this method needs a model with a token for each label"
                )
            found[letter] = single
        return found

    def facts(self) -> dict[str, Any]:
        """What the files say: template, ends, and decoding defaults that plain greedy decoding leaves aside."""
        configured = self.model.generation_config.to_diff_dict()
        ignored = ("repetition_penalty", "temperature", "top_p", "top_k", "do_sample", "no_repeat_ngram_size")
        return {
            "architecture": type(self.model).__name__,
            "chat_template_sha256": template_sha256(self.tokenizer),
            "chat_template_writes": self.chat("{message}"),
            "context": self.context,
            "ends": sorted(self.ends),
            "decoding_defaults_not_applied": {name: configured[name] for name in ignored if name in configured},
        }


def template_sha256(tokenizer: Any) -> str:
    """sha256 hex of the chat template's text."""
    return hashlib.sha256(str(tokenizer.chat_template).encode("utf-8")).hexdigest()


def load(folder: Path, dtype: str, device: str, quantization: Quantization | None = None) -> Checkpoint:
    """Load a folder of safetensors with its tokenizer.

    Args:
        quantization: of the weights; None where they are as the dtype says.

    Raises:
        ModelError: the device is not there, the folder cannot be loaded without running its code, the model has no
            chat template, or it is of a kind that the engine cannot decode.
    """
    import torch
    from transformers import AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise ModelError(f"device {device!r}: PyTorch finds no card on this machine; set device: cpu in conf/engine")
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except (OSError, ValueError) as error:
        raise ModelError(f"{folder}: cannot load its tokenizer ({_short(error)}); fetch the model again") from error
    if not tokenizer.chat_template:
        raise ModelError(f"{folder}: has no chat template, so it is no instruct model; choose one that is")
    model = load_model(folder, getattr(torch, dtype), device, quantization)
    missing = _NEEDED - set(inspect.signature(model.forward).parameters)
    kinds = set(getattr(model.config, "layer_types", None) or ()) - _ATTENTIONS
    if missing or kinds:
        raise ModelError(
            f"{folder}: {type(model).__name__} cannot be decoded by this engine "
            f"({', '.join(sorted(missing | kinds))}); it takes decoders with full attention"
        )
    ends = _ends(model, tokenizer)
    if not ends:
        raise ModelError(f"{folder}: names no end-of-turn token; add eos_token_id to its generation_config.json")
    return Checkpoint(folder, model, tokenizer, ends, _context(model.config))


def load_model(folder: Path, dtype: Any, device: str, quantization: Quantization | None = None) -> Any:
    """The weights alone, ready for inference.

    Quantised weights in double precision are those that single precision has: otherwise two readings of one checkpoint
    would compute with two models.

    Raises:
        ModelError: they cannot be loaded, or only by running code of their own.
    """
    import torch

    from stablechoice.engines import compressed

    if quantization is None:
        compressed.check_plain(folder)
        model, _ = _read_weights(folder, dtype)
        return model.to(device).eval()

    from stablechoice.engines import float8

    quantization.check_device(device)
    read_as = torch.float32 if dtype == torch.float64 else dtype
    if quantization.weights == "fp8-dynamic":
        compressed.check_fp8_dynamic(folder)
        model, beside = _read_weights(folder, read_as)
        compressed.check_scales(folder, beside)
        scales = compressed.scales(folder)
    else:
        compressed.check_plain(folder)
        model, _ = _read_weights(folder, read_as)
        scales = float8.rounded_by_quanto(model)
    float8.apply(model, scales, quantization.arithmetic)
    return (model.double() if dtype == torch.float64 else model).to(device).eval()


def _read_weights(folder: Path, dtype: Any) -> tuple[Any, list[str]]:
    """A model of plain layers, and what the files hold beside its weights; float8 values are read exactly as numbers.

    Raises:
        ModelError: see `load_model`.
    """
    import transformers
    from safetensors import SafetensorError

    logging = transformers.utils.logging
    logging.disable_progress_bar()
    told = logging.get_verbosity()
    try:
        config = transformers.AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        if hasattr(config, "quantization_config"):
            # Else transformers would choose what to do with float8, by the machine; here the configuration does.
            del config.quantization_config
            # Scales are no weights to it, and it would warn of each.
            logging.set_verbosity_error()
        model, found = transformers.AutoModelForCausalLM.from_pretrained(
            folder,
            config=config,
            dtype=dtype,
            attn_implementation="sdpa",
            local_files_only=True,
            trust_remote_code=False,
            use_safetensors=True,
            output_loading_info=True,
        )
    except (OSError, ValueError, ImportError, RuntimeError, SafetensorError) as error:
        raise ModelError(f"{folder}: cannot load its weights ({_short(error)}); fetch the model again") from error
    finally:
        logging.set_verbosity(told)
    absent = sorted(found["missing_keys"]) + sorted(str(key) for key in found["mismatched_keys"])
    if absent:
        # transformers would fill these with random numbers and a warning.
        raise ModelError(
            f"{folder}: its weights lack {textwrap.shorten(', '.join(absent), 120)}; fetch the model again"
        )
    return model, sorted(found["unexpected_keys"])


def _ends(model: Any, tokenizer: Any) -> frozenset[int]:
    configured = model.generation_config.eos_token_id
    several = configured if isinstance(configured, list) else [configured]
    return frozenset(int(token) for token in [*several, tokenizer.eos_token_id] if token is not None)


def _context(config: Any) -> int:
    """Positions that the model knows; a sliding window counts as its limit, since beyond it tokens would be lost."""
    limits = [config.max_position_embeddings]
    sliding = "sliding_attention" in (getattr(config, "layer_types", None) or ())
    window = getattr(config, "sliding_window", None)
    if window and (sliding or getattr(config, "layer_types", None) is None):
        limits.append(window)
    return int(min(limits))


def _short(error: BaseException) -> str:
    return textwrap.shorten(str(error), 200, placeholder="…")
