#!/bin/sh
# python.sh ASSAY TESTS STORE: the corpus of Python candidates, on the CPU, with $ASSAY_PYTHON, what tools/install-torch
# found or installed, or python3. 77: PyTorch is not there.
set -eu
ASSAY_PYTHON=${ASSAY_PYTHON:-${ASSAY_TORCH_PYTHON:-python3}}
export ASSAY_PYTHON
"$ASSAY_PYTHON" -c 'import torch' 2>/dev/null || exit 77
exec "$2/corpus.sh" "$1" "$2/python" "$3" --device cpu
