# SPDX-License-Identifier: Apache-2.0
# A matrix product with bias and GELU in bf16, in Helion: what follows the product is done on the sums.
# assay: task fusedops/gemm_gelu/bf16_gemm_gelu
# assay: twin NO_GELU expect wrong_value|low_precision -- leaves out the GELU
import helion
import helion.language as hl
import torch

NO_GELU = globals().get("NO_GELU", False)


@helion.kernel(static_shapes=True)
def gemm_gelu(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor, no_gelu: hl.constexpr) -> torch.Tensor:
    m, k = x.size()
    _, n = w.size()
    y = torch.empty([m, n], dtype=x.dtype, device=x.device)
    for tile_m, tile_n in hl.tile([m, n]):
        total = hl.zeros([tile_m, tile_n], dtype=torch.float32)
        for tile_k in hl.tile(k):
            total = hl.dot(x[tile_m, tile_k], w[tile_k, tile_n], acc=total)
        total = total + b[tile_n].to(torch.float32)[None, :]
        if not no_gelu:
            total = 0.5 * total * (1.0 + torch.erf(total * 0.7071067811865476))
        y[tile_m, tile_n] = total.to(y.dtype)
    return y


class ModelNew(torch.nn.Module):
    def __init__(self, K, N):
        super().__init__()
        self.w = torch.nn.Parameter(torch.empty((K, N), dtype=torch.bfloat16), requires_grad=False)
        self.b = torch.nn.Parameter(torch.empty((N,), dtype=torch.bfloat16), requires_grad=False)

    def forward(self, x):
        return gemm_gelu(x, self.w, self.b, NO_GELU)


def get_init_inputs(K, N):
    return [K, N]
