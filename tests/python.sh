#!/bin/sh
# python.sh ASSAY TESTS STORE: the corpus of Python candidates, on the CPU, with $ASSAY_PYTHON or python3. 77: PyTorch is
# not there.
set -eu
"${ASSAY_PYTHON:-python3}" -c 'import torch' 2>/dev/null || exit 77
exec "$2/corpus.sh" "$1" "$2/python" "$3" --device cpu
