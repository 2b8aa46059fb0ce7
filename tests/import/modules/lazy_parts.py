# SPDX-License-Identifier: Apache-2.0
"""A file that says where its package is, and whose constructor is the first to import from it."""
import pathlib
import sys

import torch
from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "parts"))


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        import gate_of_parts
        self.gate = gate_of_parts.gate
        self.linear = nn.Linear(width, width)

    def forward(self, x):
        return self.gate(self.linear(x))


def get_inputs():
    return [torch.randn(16, 24)]


def get_init_inputs():
    return [24]
