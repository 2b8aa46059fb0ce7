# refused: torch.linalg.matrix_rank counts singular values
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.linalg.matrix_rank(x) + x.sum()


def get_inputs():
    return [torch.rand(8, 4)]


def get_init_inputs():
    return []
