# SPDX-License-Identifier: Apache-2.0
# Attention in bf16 that looks back only:
# a program some queries of a head, over blocks of keys with a running maximum and sum. Keys that no query of it sees
# are left out.
# assay: task fusedops/attention/bf16_attention_causal
# assay: twin ALL_KEYS expect wrong_value|low_precision -- looks ahead, too
import torch
import triton
import triton.language as tl

ALL_KEYS = globals().get("ALL_KEYS", False)
triton.knobs.autotuning.print = True
TILES = [  # queries, keys, stages, warps
    (128, 128, 3, 8), (128, 64, 3, 4), (128, 64, 3, 8), (128, 32, 4, 4), (64, 64, 3, 4), (64, 32, 4, 4), (16, 64, 3, 4),
    (16, 128, 2, 4),
]


@triton.autotune([triton.Config({"BM": m, "BN": n}, num_stages=s, num_warps=w) for m, n, s, w in TILES],
                 key=["S", "T", "D"])
@triton.jit
def attention(q, k, v, y, S, T, D, HEADS, SHARING, scale, ALL_KEYS: tl.constexpr, BD: tl.constexpr, BM: tl.constexpr,
              BN: tl.constexpr):
    head = tl.program_id(1).to(tl.int64)
    keys = head // HEADS * (HEADS // SHARING) + head % HEADS // SHARING  # several heads share those of one
    m, d = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, BD)
    own = (m < S)[:, None] & (d < D)[None, :]
    of_q = (head * S + m)[:, None] * D + d[None, :]
    x = tl.load(q + of_q, mask=own, other=0.0)
    top = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    result = tl.zeros((BM, BD), tl.float32)
    for done in range(0, S if ALL_KEYS else min(S, (tl.program_id(0) + 1) * BM), BN):
        n = done + tl.arange(0, BN)
        of_k = (keys * T + n)[:, None] * D + d[None, :]
        there = (n < T)[:, None] & (d < D)[None, :]
        scores = tl.dot(x, tl.trans(tl.load(k + of_k, mask=there, other=0.0))) * (scale * 1.4426950408889634)
        scores = tl.where((n < T)[None, :], scores, float("-inf"))
        if not ALL_KEYS:
            scores = tl.where(n[None, :] <= m[:, None], scores, float("-inf"))
        higher = tl.maximum(top, tl.max(scores, 1))
        weights = tl.exp2(scores - higher[:, None])
        shrink = tl.exp2(top - higher)
        total = total * shrink + tl.sum(weights, 1)
        result = tl.dot(weights.to(tl.bfloat16), tl.load(v + of_k, mask=there, other=0.0), result * shrink[:, None])
        top = higher
    tl.store(y + of_q, (result / total[:, None]).to(tl.bfloat16), mask=own)


class ModelNew(torch.nn.Module):
    def forward(self, q, k, v):
        B, H, S, D = q.shape
        T, y = k.shape[2], torch.empty_like(q)
        attention[lambda tile: (triton.cdiv(S, tile["BM"]), B * H)](
            q, k, v, y, S, T, D, H, H // k.shape[1], D ** -0.5, ALL_KEYS, BD=max(16, triton.next_power_of_2(D)))
        return y
