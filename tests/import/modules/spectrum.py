import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.fft.rfft(x).abs()


def get_inputs():
    return [torch.rand(4, 64)]


def get_init_inputs():
    return []
