"""Squeeze and excitation: channels weighted by what the whole image says."""
import torch
from torch import nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, channels, reduction=4):
        super().__init__()
        self.down = nn.Linear(channels, channels // reduction)
        self.up = nn.Linear(channels // reduction, channels)

    def forward(self, x):
        s = F.adaptive_avg_pool2d(x, 1).flatten(1)
        s = torch.sigmoid(self.up(F.silu(self.down(s))))
        return x * s[:, :, None, None]


def get_inputs():
    return [torch.rand(16, 96, 32, 32) * 2 - 1]


def get_init_inputs():
    return {"channels": 96, "reduction": 6}
