"""A projected LSTM, which ONNX does not have, and layers with dropout between them."""
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.projected = nn.LSTM(3, 4, proj_size=2)
        self.stacked = nn.RNN(2, 3, num_layers=2, dropout=0.25)

    def forward(self, x):
        return self.stacked(self.projected(x)[0])[0]


def get_inputs():
    return [torch.randn(3, 2, 3)]


def get_init_inputs():
    return []
