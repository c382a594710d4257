"""A real Llama of two layers with random weights and a byte tokenizer: it loads in milliseconds."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# The first message is told from others only by its role, and a default system prompt stands before it, as in SmolLM2.
TEMPLATE = (
    "{% for message in messages %}{% if loop.first and message['role'] != 'system' %}<|start|>system\nBe brief<|end|>\n"
    "{% endif %}<|start|>{{ message['role'] }}\n{{ message['content'] }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant\n{% endif %}"
)
SPECIAL = ("<|start|>", "<|end|>", "<|bos|>")
CONTEXT = 600


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def byte_tokens() -> list[str]:
    """The 256 characters that byte-level tokenizers write bytes as, in the bytes' alphabetical order."""
    from tokenizers.pre_tokenizers import ByteLevel

    return sorted(ByteLevel.alphabet())


def save_tiny(folder: Path, *, seed: int = 0, ends: Sequence[int] = (), spoil: bool = False) -> dict[str, Any]:
    """Save the model.

    Args:
        ends: further end-of-turn tokens for its generation configuration.
        spoil: put NaN into its last norm.

    Returns:
        The `conf/model` mapping that pins it.
    """
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
    from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    vocabulary = {token: number for number, token in enumerate([*byte_tokens(), *SPECIAL])}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    # Like many tokenizers it writes a beginning-of-text token unless told not to.
    bos = vocabulary["<|bos|>"]
    tokenizer.post_processor = processors.TemplateProcessing(single="<|bos|> $A", special_tokens=[("<|bos|>", bos)])
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<|bos|>", eos_token="<|end|>", pad_token="<|end|>"
    )
    fast.add_special_tokens({"additional_special_tokens": ["<|start|>"]})
    fast.chat_template = TEMPLATE
    torch.manual_seed(seed)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(vocabulary),
            hidden_size=32,
            intermediate_size=48,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=CONTEXT,
            initializer_range=0.4,
            tie_word_embeddings=False,
            bos_token_id=bos,
            eos_token_id=vocabulary["<|end|>"],
        )
    )
    if spoil:
        torch.nn.init.constant_(model.model.norm.weight, float("nan"))
    model.generation_config = GenerationConfig(eos_token_id=[vocabulary["<|end|>"], *ends])
    model.save_pretrained(folder)
    fast.save_pretrained(folder)
    return pins(folder)


def pins(folder: Path) -> dict[str, Any]:
    """The `conf/model` mapping of a saved folder."""
    template = hashlib.sha256(TEMPLATE.encode("utf-8")).hexdigest()
    weights = sha256(folder / "model.safetensors")
    return {"key": "tiny", "folder": str(folder), "sha256": weights, "chat_template_sha256": template}


def save_tiny_gguf(path: Path) -> str:
    """Write a random one-layer Llama as a GGUF file; returns its sha256."""
    import gguf
    import numpy as np

    random = np.random.default_rng(0)
    tokens = [*byte_tokens(), *SPECIAL, "ab"]
    hidden, inner, heads = 32, 64, 4
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(hidden)
    writer.add_block_count(1)
    writer.add_feed_forward_length(inner)
    writer.add_head_count(heads)
    writer.add_head_count_kv(heads)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10000.0)
    writer.add_rope_dimension_count(hidden // heads)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(tokens)
    writer.add_token_types([gguf.TokenType.NORMAL] * 256 + [gguf.TokenType.CONTROL] * 3 + [gguf.TokenType.NORMAL])
    writer.add_token_merges(["a b"])
    writer.add_bos_token_id(258)
    writer.add_eos_token_id(257)
    writer.add_chat_template(TEMPLATE)
    square, wide, tall = (hidden, hidden), (inner, hidden), (hidden, inner)
    shapes = {"attn_q": square, "attn_k": square, "attn_v": square, "attn_output": square}
    shapes |= {"ffn_gate": wide, "ffn_up": wide, "ffn_down": tall}
    tensors = {f"blk.0.{name}.weight": random.normal(size=shape) for name, shape in shapes.items()}
    tensors |= {f"blk.0.{name}.weight": np.ones(hidden) for name in ("attn_norm", "ffn_norm")}
    tensors["token_embd.weight"] = random.normal(size=(len(tokens), hidden))
    tensors["output_norm.weight"] = np.ones(hidden)
    for name, values in tensors.items():
        writer.add_tensor(name, values.astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return sha256(path)


def edit_json(path: Path, **changes: Any) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**content, **changes}), encoding="utf-8", newline="\n")
