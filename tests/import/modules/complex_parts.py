"""Complex numbers, as real and imaginary parts: inputs, parameters, buffers, results; spectra and their inverses; results in
a dataclass; a parameter whose size the first call decides."""
import dataclasses

import torch
from torch import nn


@dataclasses.dataclass
class Result:
    turned: torch.Tensor
    spectra: list


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.filter = nn.Parameter(torch.randn(9, dtype=torch.complex64))
        angles = torch.outer(torch.arange(6), 10 ** -torch.arange(8.0))
        self.register_buffer("turns", torch.polar(torch.ones_like(angles), angles))
        self.last = nn.LazyLinear(3)

    def forward(self, x, z):
        pairs = torch.view_as_complex(x.unflatten(-1, (8, 2)))
        turned = torch.view_as_real(pairs * self.turns).flatten(-2)
        filtered = torch.fft.irfft(torch.fft.rfft(x) * self.filter, n=16)
        odd = torch.fft.irfft2(torch.fft.rfft2(filtered), s=(6, 15))
        heard = torch.stft(x.flatten(1), 16, 4, 12, torch.hann_window(12), center=False, normalized=True,
                           return_complex=True)
        powers = torch.linalg.vander(x[0, 0, :3], N=4)
        return Result(self.last(turned), [filtered + odd.sum(), heard.abs(), z * z.conj() * powers.sum(), z.conj()[:, 1] * z[:, 0]])


def get_inputs():
    return [torch.randn(2, 6, 16), torch.randn(4, 5, dtype=torch.complex64)]


def get_init_inputs():
    return []
