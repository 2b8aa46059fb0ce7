"""Images at scales that are no float32, whose products with an extent are."""
import torch.nn.functional as F
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        made = [F.interpolate(x, scale_factor=0.7, mode=mode) for mode in ("nearest", "bilinear", "bicubic")]
        made += [F.interpolate(x, scale_factor=(0.7, 1.6), mode="bilinear", align_corners=True)]
        return made


def get_inputs():
    return [torch.randn(2, 3, 10, 12)]


def get_init_inputs():
    return []
