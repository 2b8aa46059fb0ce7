# SPDX-License-Identifier: Apache-2.0
# A matrix product in bf16: tiles in an order that keeps the second factor in the cache, sums in single precision. What
# tile is best depends on the shape; Triton's autotuner chooses.
# assay: task fusedops/matmul/bf16_matmul
# assay: twin LAST_STEP expect wrong_value|low_precision -- leaves out what the last whole step of K does not reach
import torch
import triton
import triton.language as tl

LAST_STEP = globals().get("LAST_STEP", False)
triton.knobs.autotuning.print = True  # what it tries is read from what it prints
TILES = [  # rows, columns, depth, stages, warps
    (128, 256, 64, 3, 8), (256, 128, 64, 3, 8), (128, 128, 64, 4, 4), (128, 128, 64, 3, 8), (128, 64, 64, 4, 4),
    (64, 128, 64, 4, 4), (64, 64, 64, 5, 4), (64, 32, 128, 4, 4), (32, 64, 128, 4, 4), (16, 64, 128, 5, 4),
]


@triton.autotune([triton.Config({"BM": m, "BN": n, "BK": k}, num_stages=s, num_warps=w) for m, n, k, s, w in TILES],
                 key=["M", "N", "K"])
@triton.jit
def matmul(a, b, y, M, N, K, END, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    tiles_m, tiles_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
    at, in_group = tl.program_id(0), 8 * tiles_n  # eight rows of tiles share the columns that they read
    first = at // in_group * 8
    rows = min(tiles_m - first, 8)
    m = (first + at % in_group % rows) * BM + tl.arange(0, BM)
    n = at % in_group // rows * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    of_a = a + (m % M)[:, None].to(tl.int64) * K + k[None, :]
    of_b = b + k[:, None].to(tl.int64) * N + (n % N)[None, :]
    total = tl.zeros((BM, BN), tl.float32)
    for done in range(0, END, BK):
        left = K - done
        x = tl.load(of_a, mask=k[None, :] < left, other=0.0)
        w = tl.load(of_b, mask=k[:, None] < left, other=0.0)
        total = tl.dot(x, w, total)
        of_a += BK
        of_b += BK * N
    inside = (m[:, None] < M) & (n[None, :] < N)
    tl.store(y + m[:, None].to(tl.int64) * N + n[None, :], total.to(tl.bfloat16), mask=inside)


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        (M, K), N = a.shape, b.shape[1]
        y = torch.empty((M, N), dtype=a.dtype, device=a.device)
        end = K // 128 * 128 if LAST_STEP else K
        matmul[lambda tile: (triton.cdiv(M, tile["BM"]) * triton.cdiv(N, tile["BN"]),)](a, b, y, M, N, K, end)
        return y
