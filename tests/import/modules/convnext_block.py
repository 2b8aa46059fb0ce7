"""A ConvNeXt block: depthwise 7x7, layer normalisation over channels, a wide pair of linear layers, a learnt scale."""
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.depthwise = nn.Conv2d(channels, channels, 7, padding=3, groups=channels)
        self.norm = nn.LayerNorm(channels, eps=1e-6)
        self.wide = nn.Linear(channels, 4 * channels)
        self.narrow = nn.Linear(4 * channels, channels)
        self.scale = nn.Parameter(torch.full((channels,), 0.1))

    def forward(self, x):
        y = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        y = self.scale * self.narrow(nn.functional.gelu(self.wide(y)))
        return x + y.permute(0, 3, 1, 2)


def get_inputs():
    return [torch.randn(4, 48, 20, 20)]


def get_init_inputs():
    return [48]
