"""Arguments that are called as the task's outputs, its types or its weights would be."""
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.y1 = nn.Parameter(torch.rand(5))

    def forward(self, y0, y1, float):
        return (y0 - y1) * self.y1, float.sum(0)


def get_inputs():
    return [torch.randn(8, 5), torch.randn(8, 5), torch.randn(8, 5)]


def get_init_inputs():
    return []
