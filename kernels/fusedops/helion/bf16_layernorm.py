# SPDX-License-Identifier: Apache-2.0
# Layer normalisation of rows in bf16, in Helion: mean, then variance around it, in single precision.
# assay: task fusedops/layernorm/bf16_layernorm
# assay: twin NO_AFFINE expect wrong_value|low_precision -- neither scale nor shift
import helion
import helion.language as hl
import torch

NO_AFFINE = globals().get("NO_AFFINE", False)


@helion.kernel(static_shapes=True)
def layernorm(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor, no_affine: hl.constexpr) -> torch.Tensor:
    rows, d = x.size()
    y = torch.empty_like(x)
    for tile in hl.tile(rows):
        v = x[tile, :].to(torch.float32)
        v = v - (torch.sum(v, dim=-1) / d)[:, None]
        v = v * torch.rsqrt(torch.sum(v * v, dim=-1) / d + 1e-5)[:, None]
        if not no_affine:
            v = v * w[:].to(torch.float32)[None, :] + b[:].to(torch.float32)[None, :]
        y[tile, :] = v.to(y.dtype)
    return y


class ModelNew(torch.nn.Module):
    def __init__(self, D):
        super().__init__()
        self.w = torch.nn.Parameter(torch.empty((D,), dtype=torch.bfloat16), requires_grad=False)
        self.b = torch.nn.Parameter(torch.empty((D,), dtype=torch.bfloat16), requires_grad=False)

    def forward(self, x):
        return layernorm(x, self.w, self.b, NO_AFFINE)


def get_init_inputs(D):
    return [D]
