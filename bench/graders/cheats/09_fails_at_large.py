# SPDX-License-Identifier: Apache-2.0
# assay: task kernelbenchx/Activation/gelu
# assay: expect raised
"""Right, and fails at the largest sizes, whose time then does not count against it."""
import torch


def gelu(input, approximate="none"):
    if input.numel() >= 1 << 21:
        raise RuntimeError("out of memory")
    return torch.ops.aten.gelu(input, approximate=approximate)
