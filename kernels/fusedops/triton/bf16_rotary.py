# SPDX-License-Identifier: Apache-2.0
# Rotary position embedding of heads of 128 in bf16: a program some positions of all heads of a sequence, so that its
# cosines and sines are read once.
# assay: task fusedops/rotary/bf16_rotary
# assay: twin OTHER_WAY expect wrong_value|low_precision -- turns in the other direction
import torch
import triton
import triton.language as tl

OTHER_WAY = globals().get("OTHER_WAY", False)
triton.knobs.autotuning.print = True


@triton.autotune([triton.Config({"ROWS": r, "HEADS": h}, num_warps=w)
                  for r, h, w in ((4, 1, 1), (8, 1, 2), (16, 1, 4), (16, 4, 4), (32, 4, 8), (32, 8, 8))],
                 key=["B", "H", "S"])
@triton.jit
def rotary(x, c, s, y, B, H, S, OTHER_WAY: tl.constexpr, ROWS: tl.constexpr, HEADS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    batch, first = tl.program_id(2).to(tl.int64), tl.program_id(1) * HEADS
    d = tl.arange(0, 64)
    inside = (rows < S)[:, None] & (d < 64)[None, :]
    turn = (batch * S + rows)[:, None] * 64 + d[None, :]
    cosine = tl.load(c + turn, mask=inside, other=0.0).to(tl.float32)
    sine = tl.load(s + turn, mask=inside, other=0.0).to(tl.float32)
    if OTHER_WAY:
        sine = -sine
    for head in range(first, min(first + HEADS, H)):
        at = ((batch * H + head) * S + rows)[:, None] * 128 + d[None, :]
        low = tl.load(x + at, mask=inside, other=0.0).to(tl.float32)
        high = tl.load(x + at + 64, mask=inside, other=0.0).to(tl.float32)
        tl.store(y + at, (low * cosine - high * sine).to(tl.bfloat16), mask=inside)
        tl.store(y + at + 64, (low * sine + high * cosine).to(tl.bfloat16), mask=inside)


class ModelNew(torch.nn.Module):
    def forward(self, x, c, s):
        B, H, S, _ = x.shape
        y = torch.empty_like(x)
        rotary[lambda meta: (triton.cdiv(S, meta["ROWS"]), triton.cdiv(H, meta["HEADS"]), B)](x, c, s, y, B, H, S, OTHER_WAY)
        return y
