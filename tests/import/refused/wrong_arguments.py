# refused: forward does not take what get_inputs\(\) gives
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x + 1


def get_inputs():
    return [torch.rand(3), torch.rand(3)]


def get_init_inputs():
    return []
