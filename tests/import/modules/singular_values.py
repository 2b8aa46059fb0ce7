"""Singular values, and norms and condition numbers that are made of them."""
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.base = nn.Parameter(torch.randn(width, width + 2) / width ** 0.5)

    def forward(self, x):
        tall = torch.linalg.svdvals(x)
        wide = torch.linalg.svdvals(x.mT)
        nuclear = torch.linalg.matrix_norm(x, ord="nuc")
        spectral = torch.linalg.matrix_norm(x, ord=2)
        least = torch.linalg.matrix_norm(x, ord=-2)
        return tall, wide, nuclear + spectral + least, torch.linalg.cond(x), x / torch.linalg.svdvals(self.base)[0]


def get_inputs():
    return [torch.randn(6, 9, 5)]


def get_init_inputs():
    return [8]
