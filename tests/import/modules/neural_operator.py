"""A Fourier neural operator, which writes parts of complex tensors; eigenvalues; a matrix's exponential; a mixture of
distributions; counts with a given length; stable orders; elements put where a mask says."""
import torch
import torch.distributions as D
from torch import nn


class Model(nn.Module):
    def __init__(self, modes):
        super().__init__()
        self.modes = modes
        self.low = nn.Parameter(torch.rand(4, 3, modes, modes, dtype=torch.cfloat))
        self.high = nn.Parameter(torch.rand(4, 3, modes, modes, dtype=torch.cfloat))
        self.generator = nn.Parameter(torch.randn(5, 5) * 3)

    def forward(self, x, c, ids, mask):
        at = torch.linspace(0, 1, x.shape[-1]).reshape(1, 1, 1, -1).expand(x.shape[0], 1, x.shape[2], -1)
        spectrum = torch.fft.rfft2(torch.cat((x, at), 1))
        made = torch.zeros(x.shape[0], 3, *spectrum.shape[2:], dtype=torch.cfloat, device=x.device)
        m = self.modes
        made[:, :, :m, :m] = torch.einsum("bixy,ioxy->boxy", spectrum[:, :, :m, :m], self.low)
        made[:, :, -m:, :m] = torch.einsum("bixy,ioxy->boxy", spectrum[:, :, -m:, :m], self.high)
        made[..., 1] = made[..., 2] * 0.5
        grid = torch.fft.irfft2(made, s=x.shape[2:])
        moments = c @ c.mT
        lopsided = moments + self.generator
        values = torch.linalg.eigvalsh(lopsided - 3) + torch.linalg.eigh(lopsided, UPLO="u")[0]
        turn = torch.matrix_exp(self.generator - self.generator.mT) + torch.linalg.matrix_exp(moments / 64)
        mixture = D.MixtureSameFamily(D.Categorical(logits=c[:, :3]), D.Normal(c[:, 3:6], torch.exp(c[:, 5:8])))
        counts = torch.bincount(ids, minlength=6), torch.bincount(ids, c.flatten()[:14].half(), 6).float()
        order = torch.argsort(ids, stable=True)
        filled = c.masked_scatter(mask, values.sum() + c.flatten().flip(0)) + c[:1].masked_scatter(mask[:, :1], c.flatten())
        return grid, values, turn, mixture.log_prob(c[:, 0]), *counts, order, filled


def get_inputs():
    return [torch.randn(2, 3, 12, 10), torch.randn(5, 8), torch.randint(0, 6, (14,)), torch.rand(5, 8) > 0.5]


def get_init_inputs():
    return [4]
