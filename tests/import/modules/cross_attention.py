"""Attention to another sequence, parts of which are masked for each sample."""
import torch
from torch import nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.q = nn.Linear(width, width, bias=False)
        self.kv = nn.Linear(width, 2 * width, bias=False)
        self.out = nn.Linear(width, width)

    def split(self, x):
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, x, context, visible):
        k, v = self.kv(context).chunk(2, dim=-1)
        mask = torch.zeros_like(visible, dtype=x.dtype).masked_fill(~visible, -1e4)[:, None, None, :]
        y = F.scaled_dot_product_attention(self.split(self.q(x)), self.split(k), self.split(v), attn_mask=mask)
        return self.out(y.transpose(1, 2).flatten(2))


def get_inputs():
    return [torch.randn(4, 32, 64), torch.randn(4, 56, 64), torch.rand(4, 56) > 0.25]


def get_init_inputs():
    return [64, 8]
