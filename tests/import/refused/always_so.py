# refused: `if \(x > -100\)\.any\(\):` \(line 8\) held in every run
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        y = x * 2
        if (x > -100).any():
            y = y + 1
        return y


def get_inputs():
    return [torch.rand(4, 8)]


def get_init_inputs():
    return []
