# refused: draws random numbers \(torch.randn_like\)
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x + 0.1 * torch.randn_like(x)


def get_inputs():
    return [torch.rand(4, 8)]


def get_init_inputs():
    return []
