#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# python_packages.sh ASSAY TESTS BUILD: a worker whose Python imports what KernelBench's environment has (dill, datasets,
# transformers) before it is locked. A copy of the virtual environment does at its start what those do as they are
# imported; where they are installed, they are imported too. 77: PyTorch is not there, or in no virtual environment.
set -eu
. "$2/support/torch.sh"
prefix=$("$ASSAY_PYTHON" -c 'import sys; print(sys.prefix if sys.prefix != sys.base_prefix else "")')
copy=$(mktemp -d "$3/python-packages-XXXXXX")
trap 'rm -rf "$copy"' EXIT
if [ -z "$prefix" ] || ! cp -al "$prefix" "$copy/venv" 2>/dev/null; then
  echo "skipped: $ASSAY_PYTHON is in no virtual environment that links can be made to from $3"
  exit 77
fi
site=$("$copy/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
case $site in "$copy"/*) ;; *)
  echo "skipped: $copy/venv has its packages in $site"
  exit 77
  ;;
esac
rm -f "$site/sitecustomize.py"
cat >"$site/sitecustomize.py" <<'END'
import os, platform, socket, sys, tempfile, threading

for mode, buffering in ("r", -1), ("rb", 0), ("wb", 0), ("wb", -1), ("w", -1), ("r+b", 0):  # dill
    open(os.devnull, mode, buffering=buffering).close()
os.path.expanduser("~"), platform.node(), socket.gethostname(), platform.platform()
try:
    os.makedirs(os.path.join(os.path.expanduser("~"), ".cache", "huggingface"), exist_ok=True)
except OSError:
    pass
thread = threading.Thread(target=tempfile.gettempdir)
thread.start()
thread.join()
if "facts" in sys.orig_argv:  # asked by doctor; what fails here or in a thread is printed only
    try:
        tempfile.gettempdir()
    except OSError:
        os._exit(1)
sys.began_with_packages = True
END
cat >"$copy/relu.py" <<'END'
# assay: task kernelbench/1/19
import importlib.util
import sys

import torch

assert sys.began_with_packages
for name in ("dill", "multiprocess", "numpy", "einops", "tqdm", "pydantic", "ninja", "requests", "openai", "datasets",
             "transformers"):
    if importlib.util.find_spec(name):
        __import__(name)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
END
ASSAY_PYTHON=$copy/venv/bin/python "$1" judge kernelbench/1/19 "$copy/relu.py" --device cpu --no-timing --no-store
said=$(ASSAY_PYTHON=$copy/venv/bin/python "$1" doctor) || :
echo "$said" | grep "^python  *ok " || { echo "doctor cannot use this Python, which judges: $said"; exit 1; }

# An environment without packages of its own: it reaches them by a .pth file alone.
"$ASSAY_PYTHON" -m venv --without-pip "$copy/linked"
linked=$("$copy/linked/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
echo "$site" >"$linked/packages.pth"
ASSAY_PYTHON=$copy/linked/bin/python "$1" judge kernelbench/1/19 "$2/python/relu.py" --device cpu --no-timing --no-probes \
  --checks 1 --no-store
