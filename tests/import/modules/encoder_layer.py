"""PyTorch's own transformer encoder layer, in training, with its dropouts."""
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width, heads, inner):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(width, heads, inner, dropout=0.1, activation="gelu", batch_first=True,
                                                norm_first=True)

    def forward(self, x):
        return self.layer(x)


def get_inputs():
    return [torch.randn(4, 48, 64)]


def get_init_inputs():
    return [64, 4, 128]
