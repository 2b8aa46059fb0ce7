#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# evaluation.sh TESTS ASSAY [DEVICE]: running statistics that are a task's weights are a candidate's buffers of their names, also
# for what __init__ makes of them. 77: PyTorch is not there (tests/support/torch.sh). About 10 s.
set -eu
. "$1/support/torch.sh"
folder=$1/worker/evaluation
judge() { # VERDICT ASSAY NAME DEVICE
  said=$("$2" judge "$folder/task.onnxtxt" "$folder/$3.py" --device "$4" \
    --no-timing --no-store --seed 20261122 --secret 20261123 2>&1) || true
  echo "$said" | grep -q "$3.py *$1 " || {
    echo "$3.py is not $1:"
    echo "$said"
    exit 1
  }
}
judge pass "$2" module "${3:-cpu}"
judge pass "$2" folded "${3:-cpu}"
judge wrong_value "$2" without_mean "${3:-cpu}"
