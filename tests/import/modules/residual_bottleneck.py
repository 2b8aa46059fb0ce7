"""A residual bottleneck with a projected shortcut, normalised by the batch's own statistics."""
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, inner, outer, stride):
        super().__init__()
        self.narrow = nn.Conv2d(outer // 2, inner, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(inner)
        self.spatial = nn.Conv2d(inner, inner, 3, stride=stride, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(inner)
        self.widen = nn.Conv2d(inner, outer, 1, bias=False)
        self.norm3 = nn.BatchNorm2d(outer)
        self.shortcut = nn.Sequential(nn.Conv2d(outer // 2, outer, 1, stride=stride, bias=False), nn.BatchNorm2d(outer))

    def forward(self, x):
        y = torch.relu(self.norm1(self.narrow(x)))
        y = torch.relu(self.norm2(self.spatial(y)))
        return torch.relu(self.norm3(self.widen(y)) + self.shortcut(x))


def get_inputs():
    return [torch.randn(8, 64, 28, 28)]


def get_init_inputs():
    return [32, 128, 2]
