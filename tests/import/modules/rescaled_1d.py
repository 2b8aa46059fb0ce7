"""Sequences at scales that are no float32, and at a size."""
import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        made = [F.interpolate(x, scale_factor=s, mode="linear") for s in (1.7, 0.7)]
        return [*made, F.interpolate(x, 7, mode="linear"), F.interpolate(x, 7, mode="linear", align_corners=True)]


def get_inputs():
    return [torch.randn(2, 3, 10)]


def get_init_inputs():
    return []
