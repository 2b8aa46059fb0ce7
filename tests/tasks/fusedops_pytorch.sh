#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fusedops_pytorch.sh ANSWERS ROOT: PyTorch's own operators agree with the tasks of fusedops. 77: there is no PyTorch.
set -eu
. "$2/tests/support/torch.sh"
printed=$("$ASSAY_PYTHON" -B "$2/tools/tasks/compare_fusedops.py" "$1") || {
  echo "$printed"
  exit 1
}
echo "$printed" | tail -n 1
case $printed in *"29 tasks, 168 rows, 0 tasks differ"*) ;; *) exit 1 ;; esac
