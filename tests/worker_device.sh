#!/bin/sh
# worker_device.sh TESTS WORKER: worker_device.py. 77: PyTorch is not there (torch.sh).
set -eu
. "$1/torch.sh"
exec "$ASSAY_PYTHON" -B "$1/worker_device.py" "$2"
