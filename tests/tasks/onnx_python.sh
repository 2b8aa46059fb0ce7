#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# onnx_python.sh FOLDER SCRIPT ARGUMENTS...: runs a Python script with an interpreter that has the package `onnx`:
# $ASSAY_ONNX_PYTHON, the system's python3, or a virtual environment in FOLDER, which is made at the first use.
folder=$1
shift
want='import onnx, numpy; assert tuple(map(int, onnx.__version__.split(".")[:2])) >= (1, 20)'
for python in "$ASSAY_ONNX_PYTHON" python3 "$folder/bin/python"; do
  if [ -n "$python" ] && "$python" -c "$want" 2>/dev/null; then
    exec "$python" "$@"
  fi
done
echo "no Python here has the package onnx (1.20 or newer); making a virtual environment in $folder"
if python3 -m venv "$folder" && "$folder/bin/pip" install --quiet --disable-pip-version-check 'onnx>=1.20'; then
  exec "$folder/bin/python" "$@"
fi
echo "This test reads the task files with ONNX's own parser and cannot run without it. Either give this machine access"
echo "to a Python package index (and install python3-venv), or set ASSAY_ONNX_PYTHON to an interpreter that has onnx."
exit 1
