# refused: forward returns no tensor but int: return a tensor, or tensors in
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x.shape[0] * 2


def get_inputs():
    return [torch.randn(8, 6)]


def get_init_inputs():
    return []
