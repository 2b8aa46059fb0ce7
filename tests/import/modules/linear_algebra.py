"""Inverses, systems of equations, Cholesky's factor and determinants, with all their signatures."""
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.base = nn.Parameter(torch.randn(width, width) / width ** 0.5)

    def forward(self, x, b):
        n = x.shape[-1]
        unit = torch.eye(n, dtype=x.dtype, device=x.device)
        a = x @ x.mT / n + unit
        lower = torch.linalg.cholesky(a)
        upper = torch.linalg.cholesky(a, upper=True)
        solved = torch.linalg.solve(a, b) + torch.cholesky_solve(b, lower)
        one = torch.linalg.solve(a, b[..., 0]) + torch.linalg.solve(self.base + 3 * unit, b)[..., 0]
        right = torch.linalg.solve(a, b.mT, left=False)
        turned = torch.linalg.solve_triangular(upper, b, upper=True)
        turned = turned + torch.linalg.solve_triangular(lower, b, upper=False, unitriangular=True)
        wide = torch.linalg.solve_triangular(lower, b.mT, upper=False, left=False)
        inverse = torch.linalg.inv(a) + torch.cholesky_inverse(lower) + torch.linalg.matrix_power(a, -3)
        sign, size = torch.linalg.slogdet(self.base + 3 * unit)
        return inverse, solved + turned, right + wide, one, torch.linalg.det(a) + sign * size + torch.logdet(a)


def get_inputs():
    return [torch.randn(6, 8, 8), torch.randn(6, 8, 3)]


def get_init_inputs():
    return [8]
