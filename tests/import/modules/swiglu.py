"""A gated feed-forward layer: SwiGLU."""
import torch
from torch import nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.gate = nn.Linear(width, inner, bias=False)
        self.up = nn.Linear(width, inner, bias=False)
        self.down = nn.Linear(inner, width, bias=False)
        for layer in (self.gate, self.up, self.down):
            nn.init.normal_(layer.weight, std=0.02)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


def get_inputs():
    return [torch.randn(2, 128, 256)]


def get_init_inputs():
    return [256, 688]
