"""Attention whose bias of distances is kept from call to call: as a buffer, and as an attribute beside its length."""
import torch
from torch import nn


class Distances(nn.Module):
    def __init__(self, heads):
        super().__init__()
        self.register_buffer("slopes", 2.0 ** -torch.arange(1, heads + 1).view(heads, 1, 1), persistent=False)
        self.register_buffer("bias", None, persistent=False)
        self.longest = None

    def forward(self, length):
        if self.bias is None or self.bias.shape[-1] < length:
            places = torch.arange(length)
            self.longest = places.to(torch.float32) / length
            bias = -(places.view(1, -1, 1) - places.view(1, 1, -1)).abs() * self.slopes
            self.register_buffer("bias", bias, persistent=False)
        return self.bias[:, :length, :length] + self.longest[:length]


class Model(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.project = nn.Linear(width, 3 * width)
        self.distances = Distances(heads)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (t.view(batch, length, self.heads, -1).transpose(1, 2) for t in self.project(x).chunk(3, -1))
        scores = q @ k.transpose(-1, -2) / (width // self.heads) ** 0.5 + self.distances(length)
        return (scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, width)


def get_inputs():
    return [torch.randn(4, 24, 32)]


def get_init_inputs():
    return [32, 4]
