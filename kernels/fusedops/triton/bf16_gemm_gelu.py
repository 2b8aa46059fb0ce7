# SPDX-License-Identifier: Apache-2.0
# A matrix product with bias and GELU in bf16: what follows the product is done on the sums, in single precision, before
# they are rounded once.
# assay: task fusedops/gemm_gelu/bf16_gemm_gelu
# assay: twin NO_BIAS expect wrong_value|low_precision -- leaves out the bias
# assay: twin RELU expect wrong_value|low_precision -- ReLU instead of GELU
import torch
import triton
import triton.language as tl

NO_BIAS, RELU = globals().get("NO_BIAS", False), globals().get("RELU", False)
triton.knobs.autotuning.print = True
TILES = [  # rows, columns, depth, stages, warps
    (128, 256, 64, 3, 8), (128, 128, 64, 4, 4), (128, 128, 64, 3, 8), (128, 64, 64, 4, 4), (64, 128, 64, 4, 4),
    (64, 64, 64, 5, 4), (64, 32, 128, 4, 4), (32, 64, 128, 4, 4), (32, 16, 64, 4, 2), (16, 64, 128, 5, 4),
]


@triton.autotune([triton.Config({"BM": m, "BN": n, "BK": k}, num_stages=s, num_warps=w) for m, n, k, s, w in TILES],
                 key=["M", "N", "K"])
@triton.jit
def gemm_gelu(x, w, b, y, M, N, K, NO_BIAS: tl.constexpr, RELU: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
              BK: tl.constexpr):
    tiles_m, tiles_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
    at, in_group = tl.program_id(0), 8 * tiles_n  # eight rows of tiles share the columns that they read
    first = at // in_group * 8
    rows = min(tiles_m - first, 8)
    m = (first + at % in_group % rows) * BM + tl.arange(0, BM)
    n = at % in_group // rows * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    of_x = x + (m % M)[:, None].to(tl.int64) * K + k[None, :]
    of_w = w + k[:, None].to(tl.int64) * N + (n % N)[None, :]
    total = tl.zeros((BM, BN), tl.float32)
    for done in range(0, K, BK):
        left = K - done
        total = tl.dot(tl.load(of_x, mask=k[None, :] < left, other=0.0), tl.load(of_w, mask=k[:, None] < left, other=0.0),
                       total)
        of_x += BK
        of_w += BK * N
    if not NO_BIAS:
        total += tl.load(b + n, mask=n < N, other=0.0).to(tl.float32)[None, :]
    if RELU:
        total = tl.maximum(total, 0.0)
    else:
        total = 0.5 * total * (1.0 + tl.erf(total * 0.7071067811865476))
    inside = (m[:, None] < M) & (n[None, :] < N)
    tl.store(y + m[:, None].to(tl.int64) * N + n[None, :], total.to(tl.bfloat16), mask=inside)


class ModelNew(torch.nn.Module):
    def __init__(self, K, N):
        super().__init__()
        self.w = torch.nn.Parameter(torch.empty((K, N), dtype=torch.bfloat16), requires_grad=False)
        self.b = torch.nn.Parameter(torch.empty((N,), dtype=torch.bfloat16), requires_grad=False)

    def forward(self, x):
        (M, K), N = x.shape, self.w.shape[1]
        y = torch.empty((M, N), dtype=x.dtype, device=x.device)
        gemm_gelu[lambda tile: (triton.cdiv(M, tile["BM"]) * triton.cdiv(N, tile["BN"]),)](
            x, self.w, self.b, y, M, N, K, NO_BIAS, RELU)
        return y


def get_init_inputs(K, N):
    return [K, N]
