# SPDX-License-Identifier: Apache-2.0
# A product for every expert in bf16: the matrix product's tiles, with the expert as the grid's second dimension.
# assay: task fusedops/grouped_gemm/bf16_batched_gemm
# assay: twin FIRST_EXPERT expect wrong_value|low_precision -- the first expert's weights for all
import torch
import triton
import triton.language as tl

FIRST_EXPERT = globals().get("FIRST_EXPERT", False)
triton.knobs.autotuning.print = True
TILES = [  # rows, columns, depth, stages, warps
    (128, 256, 64, 3, 8), (128, 128, 64, 4, 4), (128, 128, 64, 3, 8), (128, 64, 64, 4, 4), (64, 128, 64, 4, 4),
    (64, 64, 64, 5, 4), (32, 64, 128, 4, 4), (16, 64, 128, 5, 4),
]


@triton.autotune([triton.Config({"BM": m, "BN": n, "BK": k}, num_stages=s, num_warps=w) for m, n, k, s, w in TILES],
                 key=["E", "M", "N", "K"])
@triton.jit
def batched_gemm(x, w, y, E, M, N, K, FIRST_EXPERT: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    tiles_m, tiles_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
    at, in_group, expert = tl.program_id(0), 8 * tiles_n, tl.program_id(1).to(tl.int64)
    first = at // in_group * 8
    rows = min(tiles_m - first, 8)
    m = (first + at % in_group % rows) * BM + tl.arange(0, BM)
    n = at % in_group // rows * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    of_x = x + expert * M * K + (m % M)[:, None].to(tl.int64) * K + k[None, :]
    of_w = w + (n % N)[None, :] + k[:, None].to(tl.int64) * N
    if not FIRST_EXPERT:
        of_w += expert * K * N
    total = tl.zeros((BM, BN), tl.float32)
    for done in range(0, K, BK):
        left = K - done
        total = tl.dot(tl.load(of_x, mask=k[None, :] < left, other=0.0), tl.load(of_w, mask=k[:, None] < left, other=0.0),
                       total)
        of_x += BK
        of_w += BK * N
    inside = (m[:, None] < M) & (n[None, :] < N)
    tl.store(y + expert * M * N + m[:, None].to(tl.int64) * N + n[None, :], total.to(tl.bfloat16), mask=inside)


class ModelNew(torch.nn.Module):
    def __init__(self, E, K, N):
        super().__init__()
        self.w = torch.nn.Parameter(torch.empty((E, K, N), dtype=torch.bfloat16), requires_grad=False)

    def forward(self, x):
        (E, M, K), N = x.shape, self.w.shape[2]
        y = torch.empty((E, M, N), dtype=x.dtype, device=x.device)
        batched_gemm[lambda tile: (triton.cdiv(M, tile["BM"]) * triton.cdiv(N, tile["BN"]), E)](
            x, self.w, y, E, M, N, K, FIRST_EXPERT)
        return y


def get_init_inputs(E, K, N):
    return [E, K, N]
