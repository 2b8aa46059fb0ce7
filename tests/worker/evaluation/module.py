# SPDX-License-Identifier: Apache-2.0
"""The original, in evaluation."""
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, channels, features):
        super().__init__()
        self.conv = nn.Conv2d(channels, features, 3)
        self.bn = nn.BatchNorm2d(features)
        self.eval()

    def forward(self, x):
        return torch.relu(self.bn(self.conv(x)))


def get_init_inputs(C, F1):
    return [C, F1]
