"""A feature pyramid's way down: coarse maps enlarged and added to finer ones. Takes a list, gives a list."""
import torch
from torch import nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, widths, out):
        super().__init__()
        self.lateral = nn.ModuleList(nn.Conv2d(w, out, 1) for w in widths)
        self.smooth = nn.ModuleList(nn.Conv2d(out, out, 3, padding=1) for _ in widths)

    def forward(self, maps):
        maps = [lateral(m) for lateral, m in zip(self.lateral, maps)]
        for k in range(len(maps) - 2, -1, -1):
            maps[k] = maps[k] + F.interpolate(maps[k + 1], scale_factor=2, mode="nearest")
        return [smooth(m) for smooth, m in zip(self.smooth, maps)]


def get_inputs():
    return [[torch.randn(2, 16, 32, 32), torch.randn(2, 32, 16, 16), torch.randn(2, 64, 8, 8)]]


def get_init_inputs():
    return [[16, 32, 64], 24]
