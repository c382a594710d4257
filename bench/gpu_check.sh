#!/usr/bin/env bash
# Checks local inference on one card in under 8 minutes, without a network: which kernels ran, tokens per second, memory,
# agreement with the CPU, against a padded batch. Writes one JSON. Arguments go to bench/gpu_check.py: --rehearse runs
# tiny shapes on the CPU, --out names the file.
# Python: $PYTHON, else .venv's, else python3; with WHEELS=FOLDER a virtual environment is made from the wheels there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [[ -n "${WHEELS:-}" ]]; then
  place=$(mktemp -d)
  trap 'rm -rf "$place"' EXIT
  # What the machine has (torch for its card) stays; the wheels add what is missing.
  "${PYTHON:-python3}" -m venv --system-site-packages "$place"
  "$place/bin/python" -m pip install --quiet --no-index --find-links "$WHEELS" --no-deps "$WHEELS"/*.whl
  PYTHON="$place/bin/python"
elif [[ -z "${PYTHON:-}" ]]; then
  PYTHON=$([[ -x .venv/bin/python ]] && echo .venv/bin/python || echo python3)
fi
export PYTHONPATH=src HF_HUB_OFFLINE=1 HF_HUB_DISABLE_TELEMETRY=1 TOKENIZERS_PARALLELISM=false
limit=$([[ " $* " == *" --rehearse "* ]] && echo 1800 || echo 470)
timeout --signal=INT --kill-after=10 "$limit" "$PYTHON" bench/gpu_check.py "$@"
