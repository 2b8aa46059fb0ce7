"""A separable convolution along time with a strided pooling, as in keyword spotting."""
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, channels, out, kernel):
        super().__init__()
        self.depthwise = nn.Conv1d(channels, channels, kernel, padding=kernel // 2, groups=channels, bias=False)
        self.pointwise = nn.Conv1d(channels, out, 1)
        self.norm = nn.GroupNorm(4, out)
        self.pool = nn.MaxPool1d(3, stride=2, padding=1)

    def forward(self, x):
        return self.pool(torch.relu(self.norm(self.pointwise(self.depthwise(x)))))


def get_inputs():
    return [torch.randn(8, 40, 200)]


def get_init_inputs():
    return [40, 64, 9]
