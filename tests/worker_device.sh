#!/bin/sh
# worker_device.sh TESTS WORKER: worker_device.py, worker_again.py and worker_left_overs.py. 77: PyTorch is not there (torch.sh).
set -eu
. "$1/torch.sh"
"$ASSAY_PYTHON" -B "$1/worker_device.py" "$2"
"$ASSAY_PYTHON" -B "$1/worker_again.py" "$2"
"$ASSAY_PYTHON" -B "$1/worker_left_overs.py" "$2"
