#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# device.sh TESTS WORKER: allocator.py, calls.py, changed.py, device.py, extensions.py, again.py, keeps.py, held.py, left_overs.py, made.py,
# prepared.py, reduced.py and weights.py. 77: PyTorch is not there (tests/support/torch.sh).
set -eu
. "$1/support/torch.sh"
"$ASSAY_PYTHON" -B "$1/worker/allocator.py" "$2"
"$ASSAY_PYTHON" -B "$1/worker/calls.py" "$2"
"$ASSAY_PYTHON" -B "$1/worker/changed.py" "$2"
"$ASSAY_PYTHON" -B "$1/worker/device.py" "$2"
"$ASSAY_PYTHON" -B "$1/worker/extensions.py" "$2"
"$ASSAY_PYTHON" -B "$1/worker/again.py" "$2"
"$ASSAY_PYTHON" -B "$1/worker/keeps.py" "$2"
"$ASSAY_PYTHON" -B "$1/worker/held.py" "$2"
"$ASSAY_PYTHON" -B "$1/worker/left_overs.py" "$2"
"$ASSAY_PYTHON" -B "$1/worker/made.py" "$2"
"$ASSAY_PYTHON" -B "$1/worker/prepared.py" "$2"
"$ASSAY_PYTHON" -B "$1/worker/reduced.py" "$2"
"$ASSAY_PYTHON" -B "$1/worker/weights.py" "$2"
