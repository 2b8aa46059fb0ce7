#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# torch_python.sh SCRIPT ARGUMENTS...: runs a Python script with an interpreter that has PyTorch and its exporter's
# packages: $ASSAY_TORCH_PYTHON or the system's python3. Exit code 77, for a skipped test, where there is none.
want='import torch, onnxscript, onnx; assert tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 8)'
for python in "$ASSAY_TORCH_PYTHON" python3; do
  if [ -n "$python" ] && "$python" -c "$want" 2>/dev/null; then
    exec "$python" "$@"
  fi
done
echo "skipped: no Python here has PyTorch (2.8 or newer) with onnx and onnxscript; tools/install/install-torch DIR installs"\
  "them, or set ASSAY_TORCH_PYTHON to an interpreter that has them"
exit 77
