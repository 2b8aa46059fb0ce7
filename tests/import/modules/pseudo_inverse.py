"""Pseudoinverses of tall and wide matrices."""
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return torch.linalg.pinv(x), torch.linalg.pinv(x.mT, rtol=1e-5)


def get_inputs():
    return [torch.randn(3, 9, 4)]


def get_init_inputs():
    return []
