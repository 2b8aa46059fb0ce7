# SPDX-License-Identifier: Apache-2.0
# A matrix product in bf16, in Helion: tiles and everything else are its search's.
# assay: task fusedops/matmul/bf16_matmul
# assay: twin FACTOR expect wrong_value|low_precision -- half of every sum
import helion
import helion.language as hl
import torch

SCALE = 0.5 if globals().get("FACTOR") else 1.0


@helion.kernel(static_shapes=True)
def matmul(a: torch.Tensor, b: torch.Tensor, scale: float) -> torch.Tensor:
    m, k = a.size()
    _, n = b.size()
    y = torch.empty([m, n], dtype=a.dtype, device=a.device)
    for tile_m, tile_n in hl.tile([m, n]):
        total = hl.zeros([tile_m, tile_n], dtype=torch.float32)
        for tile_k in hl.tile(k):
            total = hl.dot(a[tile_m, tile_k], b[tile_k, tile_n], acc=total)
        y[tile_m, tile_n] = (total * scale).to(y.dtype)
    return y


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return matmul(a, b, SCALE)
