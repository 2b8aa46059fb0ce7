# SPDX-License-Identifier: Apache-2.0
# assay: task kernelbenchx/Activation/gelu
"""GELU in single operations: what PyTorch does in one pass takes four here."""
import torch


def gelu(input):
    return input * 0.5 * torch.erfc(input * -0.7071067811865476)
