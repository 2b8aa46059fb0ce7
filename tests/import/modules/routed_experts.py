"""A mixture of experts that each compute only the rows chosen for them, and a loss over rows that a mask keeps."""
import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    def __init__(self, width, experts):
        super().__init__()
        self.gate = nn.Linear(width, experts)
        self.experts = nn.ModuleList(nn.Linear(width, width) for _ in range(experts))

    def forward(self, x, target, kept):
        if torch.isnan(target).any():
            raise ValueError("a target that is not a number")
        weights, chosen = self.gate(x).softmax(-1).topk(2, -1)
        y = torch.zeros_like(x)
        for k, expert in enumerate(self.experts):
            mask = chosen == k
            if mask.any():
                row, slot = torch.where(mask)
                y.index_add_(0, row, expert(x[row]) * weights[row, slot, None])
        best = chosen[:, 0]
        z = torch.zeros_like(x)
        z[best == 0] = self.experts[0](x[best == 0])
        odd = (best == 1).nonzero().squeeze(-1)
        z[odd] += 2 * x[odd]
        return y, z, F.mse_loss(y[kept], target[kept])


def get_inputs():
    return [torch.randn(9, 4), torch.randn(9, 4), torch.rand(9) > 0.25]


def get_init_inputs():
    return [4, 3]
