# refused: does not require grad.*derivatives that are taken inside forward are not followed
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.autograd.grad((x.requires_grad_(True) ** 2).sum(), x)[0]


def get_inputs():
    return [torch.rand(8, 4)]


def get_init_inputs():
    return []
