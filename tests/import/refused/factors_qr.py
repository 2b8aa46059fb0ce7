# refused: aten.linalg_qr: its factors are not unique
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.linalg.qr(x).R


def get_inputs():
    return [torch.rand(8, 4)]


def get_init_inputs():
    return []
