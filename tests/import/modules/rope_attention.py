"""Causal attention with rotary positions, fewer heads for keys than for queries, after an RMS normalisation."""
import torch
from torch import nn
import torch.nn.functional as F


class RMSNorm(nn.Module):
    def __init__(self, width, eps=1e-6):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(width)), eps

    def forward(self, x):
        y = x.float()
        return self.weight * (y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + self.eps)).to(x.dtype)


def rotate(x, cos, sin):
    a, b = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-b, a), dim=-1) * sin


class Model(nn.Module):
    def __init__(self, width, heads, kv_heads, base=10000.0):
        super().__init__()
        self.heads, self.kv_heads, self.size = heads, kv_heads, width // heads
        self.norm = RMSNorm(width)
        self.q = nn.Linear(width, width, bias=False)
        self.k = nn.Linear(width, kv_heads * self.size, bias=False)
        self.v = nn.Linear(width, kv_heads * self.size, bias=False)
        self.o = nn.Linear(width, width, bias=False)
        self.register_buffer("inverse", base ** (-torch.arange(0, self.size, 2).float() / self.size), persistent=False)

    def forward(self, x):
        batch, length, _ = x.shape
        y = self.norm(x)
        angles = torch.outer(torch.arange(length, device=x.device).float(), self.inverse)
        angles = torch.cat((angles, angles), dim=-1)
        cos, sin = angles.cos(), angles.sin()
        q = rotate(self.q(y).view(batch, length, self.heads, self.size).transpose(1, 2), cos, sin)
        k = rotate(self.k(y).view(batch, length, self.kv_heads, self.size).transpose(1, 2), cos, sin)
        v = self.v(y).view(batch, length, self.kv_heads, self.size).transpose(1, 2)
        z = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        return x + self.o(z.transpose(1, 2).reshape(batch, length, -1))


def get_inputs():
    return [torch.randn(2, 64, 96)]


def get_init_inputs():
    return [96, 6, 2]
