#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# evaluation.sh TESTS ASSAY [DEVICE]: running statistics that are a task's weights are a candidate's buffers of their names, also
# for what __init__ makes of them. 77: PyTorch is not there (tests/support/torch.sh). About 10 s.
set -eu
. "$1/support/torch.sh"
folder=$1/worker/evaluation
assay=$2 device=${3:-cpu}
judge() { # VERDICT NAME [DEFINE]
  said=$("$assay" judge "$folder/task.onnxtxt" "$folder/$2.py" --device "$device" ${3:+--define "$3"} \
    --no-timing --no-store --seed 20261122 --secret 20261123 2>&1) || true
  echo "$said" | grep -q "$2.py *$1 " || {
    echo "$2.py${3:+ -D$3} is not $1:"
    echo "$said"
    exit 1
  }
}
judge pass module
judge pass folded
judge wrong_value folded WITHOUT_MEAN
