# SPDX-License-Identifier: Apache-2.0
# Four products of their own sizes in bf16 in one launch: a program finds the product that its tile belongs to.
# assay: task fusedops/grouped_gemm/bf16_grouped_gemm
# assay: twin SHARED expect wrong_value|low_precision -- the first product's weights for all
import torch
import triton
import triton.language as tl

SHARED = globals().get("SHARED", False)
triton.knobs.autotuning.print = True
TILES = [  # rows, columns, depth, stages, warps
    (128, 256, 64, 3, 8), (128, 128, 64, 4, 4), (128, 128, 64, 3, 8), (128, 64, 64, 4, 4), (64, 128, 64, 4, 4),
    (64, 64, 64, 5, 4), (32, 64, 128, 4, 4), (16, 64, 128, 5, 4),
]


@triton.autotune([triton.Config({"BM": m, "BN": n, "BK": k}, num_stages=s, num_warps=w) for m, n, k, s, w in TILES],
                 key=["M0", "M1", "M2", "M3", "N", "K"])
@triton.jit
def grouped_gemm(x0, x1, x2, x3, w0, w1, w2, w3, y0, y1, y2, y3, M0, M1, M2, M3, N, K, BM: tl.constexpr, BN: tl.constexpr,
                 BK: tl.constexpr):
    at, tiles_n = tl.program_id(0), tl.cdiv(N, BN)
    end0 = tl.cdiv(M0, BM) * tiles_n
    end1 = end0 + tl.cdiv(M1, BM) * tiles_n
    end2 = end1 + tl.cdiv(M2, BM) * tiles_n
    x, w, y, M = x0, w0, y0, M0
    if at >= end2:
        x, w, y, M, at = x3, w3, y3, M3, at - end2
    elif at >= end1:
        x, w, y, M, at = x2, w2, y2, M2, at - end1
    elif at >= end0:
        x, w, y, M, at = x1, w1, y1, M1, at - end0
    tiles_m, in_group = tl.cdiv(M, BM), 8 * tiles_n  # eight rows of tiles share the columns that they read
    first = at // in_group * 8
    rows = min(tiles_m - first, 8)
    m = (first + at % in_group % rows) * BM + tl.arange(0, BM)
    n = at % in_group // rows * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    x, w, y = tl.multiple_of(x, 16), tl.multiple_of(w, 16), tl.multiple_of(y, 16)  # known of each, lost by the choice
    of_x = x + (m % M)[:, None].to(tl.int64) * K + k[None, :]
    of_w = w + k[:, None].to(tl.int64) * N + (n % N)[None, :]
    total = tl.zeros((BM, BN), tl.float32)
    for done in range(0, K, BK):
        left = K - done
        total = tl.dot(tl.load(of_x, mask=k[None, :] < left, other=0.0), tl.load(of_w, mask=k[:, None] < left, other=0.0),
                       total)
        of_x += BK
        of_w += BK * N
    inside = (m[:, None] < M) & (n[None, :] < N)
    tl.store(y + m[:, None].to(tl.int64) * N + n[None, :], total.to(tl.bfloat16), mask=inside)


class ModelNew(torch.nn.Module):
    def __init__(self, K, N):
        super().__init__()
        for i in range(4):
            setattr(self, f"w{i}", torch.nn.Parameter(torch.empty((K, N), dtype=torch.bfloat16), requires_grad=False))

    def forward(self, x0, x1, x2, x3):
        xs, K, N = (x0, x1, x2, x3), *self.w0.shape
        ws = [self.w0] * 4 if SHARED else [self.w0, self.w1, self.w2, self.w3]
        ys = [torch.empty((x.shape[0], N), dtype=x.dtype, device=x.device) for x in xs]
        rows = [x.shape[0] for x in xs]
        grouped_gemm[lambda tile: (sum(triton.cdiv(m, tile["BM"]) for m in rows) * triton.cdiv(N, tile["BN"]),)](
            *xs, *ws, *ys, *rows, N, K)
        return ys


def get_init_inputs(K, N):
    return [K, N]
