# SPDX-License-Identifier: Apache-2.0
"""A part that the constructor puts into evaluation mode: its dropout does nothing, and its running statistics are used."""
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv1d(channels, channels, 3), nn.BatchNorm1d(channels), nn.Dropout(0.5))
        self.stem.eval()
        self.norm = nn.BatchNorm1d(channels)

    def forward(self, x):
        return self.norm(torch.relu(self.stem(x)))


def get_inputs():
    return [torch.randn(8, 12, 30)]


def get_init_inputs():
    return [12]
