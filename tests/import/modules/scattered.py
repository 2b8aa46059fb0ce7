"""Rows gathered at their destinations by every reduction that PyTorch has, what was there counted or left out."""
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, h, to, base):
        index = to[:, None].expand(-1, h.shape[1])
        made = [base.scatter_reduce(0, index, h, reduce, include_self=kept)
                for reduce in ("sum", "mean", "prod", "amax", "amin") for kept in (True, False)]
        made += [base.index_reduce(0, to, h, reduce, include_self=False) for reduce in ("mean", "amax")]
        made += [base.scatter(0, index, h, reduce="add"), base.scatter(0, index, 3.0, reduce="multiply")]
        made += [base.scatter_reduce(0, index[:5, :3], h, "mean"), base.scatter_add(0, index[:4], h)]
        return made


def get_inputs():
    return [torch.randn(30, 6), torch.randint(0, 12, (30,)), torch.randn(12, 6)]


def get_init_inputs():
    return []
