#!/bin/sh
# worker_device.sh TESTS WORKER: worker_device.py and worker_again.py. 77: PyTorch is not there (torch.sh).
set -eu
. "$1/torch.sh"
"$ASSAY_PYTHON" -B "$1/worker_device.py" "$2"
"$ASSAY_PYTHON" -B "$1/worker_again.py" "$2"
