# SPDX-License-Identifier: Apache-2.0
# To be read by tests that need PyTorch: exports ASSAY_PYTHON, which is $ASSAY_PYTHON, or what tools/install/install-torch found
# or installed, or python3. Ends the test with 77 where that has no PyTorch.
ASSAY_PYTHON=${ASSAY_PYTHON:-${ASSAY_TORCH_PYTHON:-python3}}
export ASSAY_PYTHON
"$ASSAY_PYTHON" -c 'import torch' 2>/dev/null || {
  echo "skipped: $ASSAY_PYTHON has no PyTorch (tools/install/install-torch DIR installs it)"
  exit 77
}
