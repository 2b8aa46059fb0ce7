# SPDX-License-Identifier: Apache-2.0
# Cross entropy of every row in bf16, in Helion.
# assay: task fusedops/cross_entropy/bf16_cross_entropy
# assay: twin NO_LABEL expect wrong_value|low_precision -- the logarithm of the sum alone
import helion
import helion.language as hl
import torch

NO_LABEL = globals().get("NO_LABEL", False)


@helion.kernel(static_shapes=True)
def cross_entropy(x: torch.Tensor, t: torch.Tensor, no_label: hl.constexpr) -> torch.Tensor:
    rows, d = x.size()
    y = torch.empty([rows], dtype=x.dtype, device=x.device)
    flat = x.view(-1)
    for tile in hl.tile(rows):
        v = x[tile, :].to(torch.float32)
        most = torch.amax(v, dim=1)
        result = most + torch.log(torch.sum(torch.exp(v - most[:, None]), dim=1))
        if not no_label:
            result = result - hl.load(flat, [tile.index * d + t[tile]]).to(torch.float32)
        y[tile] = result.to(y.dtype)
    return y


class ModelNew(torch.nn.Module):
    def forward(self, x, t):
        return cross_entropy(x, t, NO_LABEL)
