# refused: torch.bincount.*data decide.*torch.bincount\(x, minlength=n\)$
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.bincount(x)


def get_inputs():
    return [torch.randint(0, 10, (20,))]


def get_init_inputs():
    return []
