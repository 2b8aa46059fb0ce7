"""Attention to channels, then to places, each from means and maxima."""
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, channels, reduction):
        super().__init__()
        self.mlp = nn.Sequential(nn.Conv2d(channels, channels // reduction, 1, bias=False), nn.ReLU(),
                                 nn.Conv2d(channels // reduction, channels, 1, bias=False))
        self.place = nn.Conv2d(2, 1, 7, padding=3, bias=False)

    def forward(self, x):
        mean = self.mlp(nn.functional.adaptive_avg_pool2d(x, 1))
        peak = self.mlp(nn.functional.adaptive_max_pool2d(x, 1))
        x = x * torch.sigmoid(mean + peak)
        both = torch.cat((x.mean(1, keepdim=True), x.amax(1, keepdim=True)), dim=1)
        return x * torch.sigmoid(self.place(both))


def get_inputs():
    return [torch.randn(4, 32, 24, 24)]


def get_init_inputs():
    return [32, 8]
