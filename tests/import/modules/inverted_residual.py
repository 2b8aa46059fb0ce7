"""An inverted residual with a depthwise convolution, its activations clamped at 6."""
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, channels, expansion):
        super().__init__()
        wide = channels * expansion
        self.body = nn.Sequential(
            nn.Conv2d(channels, wide, 1, bias=False), nn.BatchNorm2d(wide), nn.ReLU6(inplace=True),
            nn.Conv2d(wide, wide, 3, padding=1, groups=wide, bias=False), nn.BatchNorm2d(wide), nn.ReLU6(inplace=True),
            nn.Conv2d(wide, channels, 1, bias=False), nn.BatchNorm2d(channels))

    def forward(self, x):
        return x + self.body(x)


def get_inputs():
    return [torch.randn(4, 24, 28, 28)]


def get_init_inputs():
    return [24, 6]
