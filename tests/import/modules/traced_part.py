"""A part that torch.jit traces, by a keyword: it is the part itself here."""
import torch
from torch import nn


class Part(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x):
        return torch.tanh(self.linear(x))


class Model(nn.Module):
    def __init__(self, width, classes):
        super().__init__()
        self.part = torch.jit.trace(func=Part(width), example_inputs=torch.randn(4, width))
        self.out = nn.Linear(width, classes)

    def forward(self, x):
        return self.out(self.part(x))


def get_inputs():
    return [torch.randn(16, 32)]


def get_init_inputs():
    return [32, 10]
