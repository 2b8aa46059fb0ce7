#!/bin/sh
# python.sh ASSAY TESTS STORE: the corpus of Python candidates, on the CPU. 77: PyTorch is not there (torch.sh).
set -eu
. "$2/torch.sh"
exec "$2/corpus.sh" "$1" "$2/python" "$3" --device cpu
