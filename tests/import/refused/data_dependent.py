# refused: values of tensors.*torch.where.*line 7: return x \* 2 if
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x * 2 if x.sum() > 0 else x - 1


def get_inputs():
    return [torch.rand(4, 8)]


def get_init_inputs():
    return []
