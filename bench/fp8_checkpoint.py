"""Writes an FP8-dynamic checkpoint, as RedHatAI publishes them, from any folder of safetensors.

Each projection's weight becomes float8_e4m3fn with a bfloat16 scale for each output channel, all else bfloat16, and
config.json says so in the words of compressed-tensors. Run: python bench/fp8_checkpoint.py FOLDER TARGET
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

SCHEME = {
    "quant_method": "compressed-tensors",
    "format": "float-quantized",
    "quantization_status": "compressed",
    "global_compression_ratio": None,
    "kv_cache_scheme": None,
    "ignore": ["lm_head"],
    "config_groups": {
        "group_0": {
            "targets": ["Linear"],
            "weights": {
                "num_bits": 8,
                "type": "float",
                "symmetric": True,
                "group_size": None,
                "strategy": "channel",
                "dynamic": False,
                "observer": "minmax",
                "observer_kwargs": {},
            },
            "input_activations": {
                "num_bits": 8,
                "type": "float",
                "symmetric": True,
                "group_size": None,
                "strategy": "token",
                "dynamic": True,
                "observer": None,
                "observer_kwargs": {},
            },
            "output_activations": None,
        }
    },
}


def write_fp8_dynamic(source: Path, target: Path) -> int:
    """Write the checkpoint; returns how many layers were rounded."""
    import torch
    from safetensors.torch import load_file, save_file

    target.mkdir(parents=True, exist_ok=True)
    tensors = {}
    for file in sorted(source.glob("*.safetensors")):
        for name, value in load_file(file).items():
            if not name.endswith("_proj.weight"):
                tensors[name] = value.to(torch.bfloat16)
                continue
            wide = value.float()
            # The scale is stored in bfloat16, so weights are rounded by what is stored.
            scale = (wide.abs().amax(dim=1, keepdim=True) / 448).to(torch.bfloat16)
            tensors[name] = (wide / scale.float()).clamp(-448, 448).to(torch.float8_e4m3fn)
            tensors[name + "_scale"] = scale
    save_file(tensors, target / "model.safetensors", metadata={"format": "pt"})
    for path in source.iterdir():
        if path.suffix in (".json", ".jinja", ".txt", ".model") and "index" not in path.name:
            shutil.copyfile(path, target / path.name)
    (target / "manifest.json").unlink(missing_ok=True)
    config = json.loads((target / "config.json").read_text(encoding="utf-8"))
    config |= {"quantization_config": SCHEME, "dtype": "bfloat16"}
    text = json.dumps(config, indent=1, sort_keys=True) + "\n"
    (target / "config.json").write_text(text, encoding="utf-8", newline="\n")
    return sum(name.endswith("_scale") for name in tensors)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    chosen = parser.parse_args()
    print(f"{write_fp8_dynamic(chosen.source, chosen.target)} layers rounded, written to {chosen.target}")


if __name__ == "__main__":
    main()
