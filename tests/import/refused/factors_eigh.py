# refused: its factors are not unique
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        values, vectors = torch.linalg.eigh(x @ x.mT)
        return vectors * values


def get_inputs():
    return [torch.rand(4, 4)]


def get_init_inputs():
    return []
