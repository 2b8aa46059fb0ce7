# State that is carried from call to call and does not matter: running means.
# assay: task kernelbench/1/33
# assay: expect pass
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x):
        return self.norm(x)


def get_init_inputs(C):
    return [C]
