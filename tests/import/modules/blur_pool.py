"""Shrinks an image after a blur whose kernel is a buffer, with reflected borders."""
import torch
from torch import nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, channels, stride):
        super().__init__()
        self.channels, self.stride = channels, stride
        row = torch.tensor([1.0, 4.0, 6.0, 4.0, 1.0])
        kernel = torch.outer(row, row) / row.sum() ** 2
        self.register_buffer("kernel", kernel.expand(channels, 1, 5, 5).clone())
        self.conv = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x):
        y = F.pad(F.relu(self.conv(x)), (2, 2, 2, 2), mode="reflect")
        return F.conv2d(y, self.kernel, stride=self.stride, groups=self.channels)


def get_inputs():
    return [torch.rand(4, 16, 30, 30)]


def get_init_inputs():
    return [16, 2]
