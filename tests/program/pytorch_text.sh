#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pytorch_text.sh ASSAY SOURCE: the PyTorch modules that `show --pytorch` prints run, and compute what the oracle does.
# 77: PyTorch is not there (tests/support/torch.sh).
set -eu
. "$2/tests/support/torch.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TMPDIR="$work" ASSAY_STORE="$work/store.sqlite"
"$ASSAY_PYTHON" "$2/tests/program/pytorch_text.py" "$1" "$2" "$work"
