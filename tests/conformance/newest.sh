#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# newest.sh CONFORMANCE ROOT: the operator tests of the package onnx that Python has. 77: there is none (tests/support/torch.sh), or it
# is an old one. How many models must be covered depends on the release: others have other models.
set -eu
. "$2/tests/support/torch.sh"
"$ASSAY_PYTHON" -c 'import onnx; assert tuple(map(int, onnx.__version__.split(".")[:2])) >= (1, 20)' 2>/dev/null || {
  echo "skipped: $ASSAY_PYTHON has no package onnx of 1.20 or newer"
  exit 77
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$ASSAY_PYTHON" -B "$2/tools/importer/onnx_node_tests.py" "$folder"
case $("$ASSAY_PYTHON" -c 'import onnx; print(onnx.__version__)') in
1.23.*) least=1694 ;;
*) least=1200 ;;
esac
"$1" "$folder" $least
