# SPDX-License-Identifier: Apache-2.0
"""Places of an affine grid: its ends, (n - 1) / n, are no float32."""
import torch
from torch import nn
from torch.nn import functional as F


class Model(nn.Module):
    def forward(self, theta, x):
        inner = F.affine_grid(theta, [x.shape[0], 1, 7, 11], align_corners=False)
        corners = F.affine_grid(theta, [x.shape[0], 1, 6, 1], align_corners=True)
        return F.grid_sample(x, inner, align_corners=False), inner, corners


def get_inputs():
    return [torch.randn(3, 2, 3), torch.randn(3, 2, 5, 5)]


def get_init_inputs():
    return []
