#!/bin/sh
# newest.sh CONFORMANCE ROOT: the operator tests of the package onnx that Python has. 77: there is none (torch.sh), or it
# is an old one. Of 1.23's 1884 models 1305 are covered; other releases have others.
set -eu
. "$2/tests/torch.sh"
"$ASSAY_PYTHON" -c 'import onnx; assert tuple(map(int, onnx.__version__.split(".")[:2])) >= (1, 20)' 2>/dev/null || exit 77
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$ASSAY_PYTHON" -B "$2/tools/onnx_node_tests.py" "$folder"
"$1" "$folder" 1200
