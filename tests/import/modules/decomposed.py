"""What PyTorch's exporter has no ONNX form for, or one with rounded numbers in it, is put together from other operators."""
import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.bag = nn.EmbeddingBag(9, 6, mode="mean")
        self.register_buffer("bounds", torch.tensor([-1.0, 0.0, 0.5, 2.0]))

    def forward(self, x, z, row):
        a = F.hardsigmoid(x) * torch.linalg.vector_norm(x, 3, -1, True) + torch.atan2(x, z) + torch.hypot(x, z)
        b = torch.cdist(a, z, p=1.5) + torch.cdist(a, z)
        c = torch.fmax(x, torch.copysign(z, x)) + torch.cumprod(x, 1) + torch.cummax(z, 1).values
        d = torch.median(c, 1).values + torch.kthvalue(c, 2, 1).values
        e = F.gaussian_nll_loss(x, z, x * x + 1, full=True) + torch.cov(z).sum()
        f = torch.bucketize(x, self.bounds, right=True) + torch.searchsorted(torch.sort(z, 1).values, x, out_int32=True)
        g = torch.hann_window(8)[:5] + torch.hamming_window(5, periodic=False) + torch.blackman_window(5)
        h = F.unfold(x[None, None], 2, padding=1, stride=(2, 1))
        return b, d * e, self.bag(row) * g.sum(), f, F.fold(h, x.shape, 2, padding=1, stride=(2, 1))


def get_inputs():
    return [torch.randn(5, 6), torch.randn(5, 6), torch.randint(0, 9, (3, 4))]


def get_init_inputs():
    return []
