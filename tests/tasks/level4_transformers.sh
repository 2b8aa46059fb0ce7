#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# level4_transformers.sh ANSWERS SOURCE: two tasks of KernelBench's level 4, ELECTRA and Reformer, still compute what the
# package transformers computes. 77 (skipped) where $ASSAY_TORCH_PYTHON is no Python with torch and transformers.
python=${ASSAY_TORCH_PYTHON:-python3}
if ! "$python" -c 'import torch, transformers' 2>/dev/null; then
  echo "level4_transformers: no PyTorch with transformers in $python; python3 -m pip install transformers gets it"
  exit 77
fi
PYTHONDONTWRITEBYTECODE=1 exec "$python" "$2/tools/tasks/compare_originals.py" "$1" - --workloads=ragged1 4/11 4/13
