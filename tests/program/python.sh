#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# python.sh ASSAY TESTS STORE: the corpus of Python candidates, on the CPU. 77: PyTorch is not there (tests/support/torch.sh).
set -eu
. "$2/support/torch.sh"
"$2/program/corpus.sh" "$1" "$2/python" "$3" --device cpu
ASSAY_SUITE=fusedops exec "$2/program/corpus.sh" "$1" "$2/python_types" "$3.types" --device cpu
