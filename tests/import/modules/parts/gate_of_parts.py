# SPDX-License-Identifier: Apache-2.0
"""What lazy_parts.py imports when it needs it."""
import torch


def gate(x):
    return x * torch.sigmoid(x)
