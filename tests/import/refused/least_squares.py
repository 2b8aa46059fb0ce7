# refused: linalg_lstsq.*torch.linalg.pinv\(a\) @ b
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.linalg.lstsq(x, x[..., :2]).solution


def get_inputs():
    return [torch.randn(8, 6)]


def get_init_inputs():
    return []
