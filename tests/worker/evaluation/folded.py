# SPDX-License-Identifier: Apache-2.0
"""The statistics are folded into the convolution, in __init__; WITHOUT_MEAN leaves the mean out."""
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, channels, features):
        super().__init__()
        self.conv = nn.Conv2d(channels, features, 3)
        self.bn = nn.BatchNorm2d(features)
        with torch.no_grad():
            scale = self.bn.weight / torch.sqrt(self.bn.running_var + self.bn.eps)
            self.kernel = self.conv.weight * scale[:, None, None, None]
            mean = 0 if "WITHOUT_MEAN" in globals() else self.bn.running_mean
            self.shift = (self.conv.bias - mean) * scale + self.bn.bias

    def forward(self, x):
        return torch.relu(nn.functional.conv2d(x, self.kernel, self.shift))


def get_init_inputs(C, F1):
    return [C, F1]
