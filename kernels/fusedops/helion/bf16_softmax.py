# SPDX-License-Identifier: Apache-2.0
# Softmax over rows in bf16, in Helion.
# assay: task fusedops/softmax/bf16_softmax
# assay: twin NO_SUM expect wrong_value|low_precision -- exponentials that are not divided by their sum
import helion
import helion.language as hl
import torch

NO_SUM = globals().get("NO_SUM", False)


@helion.kernel(static_shapes=True)
def softmax(x: torch.Tensor, no_sum: hl.constexpr) -> torch.Tensor:
    rows, _ = x.size()
    y = torch.empty_like(x)
    for tile in hl.tile(rows):
        v = x[tile, :].to(torch.float32)
        e = torch.exp(v - torch.amax(v, dim=1)[:, None])
        if not no_sum:
            e = e / torch.sum(e, dim=1)[:, None]
        y[tile, :] = e.to(y.dtype)
    return y


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return softmax(x, NO_SUM)
