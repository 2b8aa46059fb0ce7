# SPDX-License-Identifier: Apache-2.0
# The gated linear unit with the sigmoid's gate in bf16, in Helion: a stream of elements.
# assay: task fusedops/swiglu/bf16_swiglu
# assay: twin SIGMOID expect wrong_value|low_precision -- the gate without its argument as a factor
import helion
import helion.language as hl
import torch

SIGMOID = globals().get("SIGMOID", False)


@helion.kernel(static_shapes=True)
def swiglu(g: torch.Tensor, u: torch.Tensor, sigmoid: hl.constexpr) -> torch.Tensor:
    y = torch.empty_like(g)
    for tile in hl.tile(g.size(0)):
        gate = g[tile].to(torch.float32)
        v = torch.sigmoid(gate)
        if not sigmoid:
            v = v * gate
        y[tile] = (v * u[tile].to(torch.float32)).to(y.dtype)
    return y


class ModelNew(torch.nn.Module):
    def forward(self, g, u):
        return swiglu(g.view(-1), u.view(-1), SIGMOID).view(g.shape)
