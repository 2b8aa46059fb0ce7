# refused: index [5-9] is outside a dimension of 5 elements
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.bincount(x, minlength=5)


def get_inputs():
    return [torch.randint(0, 10, (200,))]


def get_init_inputs():
    return []
