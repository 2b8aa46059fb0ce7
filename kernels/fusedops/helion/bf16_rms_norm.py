# SPDX-License-Identifier: Apache-2.0
# Root mean square normalisation of rows in bf16, in Helion.
# assay: task fusedops/rms_norm/bf16_rms_norm
# assay: twin NO_SCALE expect wrong_value|low_precision -- leaves out the weights
import helion
import helion.language as hl
import torch

NO_SCALE = globals().get("NO_SCALE", False)


@helion.kernel(static_shapes=True)
def rms_norm(x: torch.Tensor, w: torch.Tensor, no_scale: hl.constexpr) -> torch.Tensor:
    rows, d = x.size()
    y = torch.empty_like(x)
    for tile in hl.tile(rows):
        v = x[tile, :].to(torch.float32)
        v = v * torch.rsqrt(torch.sum(v * v, dim=-1) / d + 1e-5)[:, None]
        if not no_scale:
            v = v * w[:].to(torch.float32)[None, :]
        y[tile, :] = v.to(y.dtype)
    return y


class ModelNew(torch.nn.Module):
    def __init__(self, D):
        super().__init__()
        self.w = torch.nn.Parameter(torch.empty((D,), dtype=torch.bfloat16), requires_grad=False)

    def forward(self, x):
        return rms_norm(x, self.w, NO_SCALE)


def get_init_inputs(D):
    return [D]
