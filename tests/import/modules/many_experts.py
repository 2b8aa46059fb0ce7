"""Layers of many experts: more choices of rows, by a loop of a fixed number of turns, than a loop without end may make."""
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width, layers, experts):
        super().__init__()
        self.gates = nn.ModuleList(nn.Linear(width, experts) for _ in range(layers))
        self.scales = nn.Parameter(torch.randn(layers, experts, width))

    def forward(self, x):
        for gate, scales in zip(self.gates, self.scales):
            chosen, y = gate(x).argmax(-1), torch.zeros_like(x)
            for k in range(scales.shape[0]):
                mask = chosen == k
                y[mask] = y[mask] + x[mask] * scales[k]
            x = x + y
        return x


def get_inputs():
    return [torch.randn(16, 4)]


def get_init_inputs():
    return [4, 3, 48]
