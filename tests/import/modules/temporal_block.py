"""A temporal block: causal dilated convolutions, padded on the left only, with dropouts and a residual."""
import torch
from torch import nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, channels, kernel, dilation):
        super().__init__()
        self.pad = (kernel - 1) * dilation
        self.first = nn.Conv1d(channels, channels, kernel, dilation=dilation)
        self.second = nn.Conv1d(channels, channels, kernel, dilation=dilation)
        self.dropout = nn.Dropout(0.2)

    def forward(self, x):
        y = self.dropout(F.elu(self.first(F.pad(x, (self.pad, 0)))))
        y = self.dropout(F.elu(self.second(F.pad(y, (self.pad, 0)))))
        return F.elu(x + y)


def get_inputs():
    return [torch.randn(4, 32, 120)]


def get_init_inputs():
    return [32, 3, 4]
