# SPDX-License-Identifier: Apache-2.0
# Softmax over rows in bf16, a program a row. A row of up to 16384 stays in registers; a longer one is read twice, with
# a running maximum and sum.
# assay: task fusedops/softmax/bf16_softmax
# assay: twin NO_MAXIMUM expect wrong_value|low_precision|wrong_class -- exponentials as they are
import torch
import triton
import triton.language as tl

NO_MAXIMUM = globals().get("NO_MAXIMUM", False)
triton.knobs.autotuning.print = True
IN_REGISTERS = 16384


@triton.autotune([triton.Config({}, num_warps=w) for w in (1, 2, 4, 8, 16)], key=["R", "D"])
@triton.jit
def softmax(x, y, R, D, NO_MAXIMUM: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * D
    d = tl.arange(0, BLOCK)
    v = tl.load(x + row + d, mask=d < D, other=float("-inf")).to(tl.float32)
    e = tl.exp(v if NO_MAXIMUM else v - tl.max(v))
    tl.store(y + row + d, (e / tl.sum(e)).to(tl.bfloat16), mask=d < D)


@triton.autotune([triton.Config({"BLOCK": b}, num_warps=w) for b, w in ((2048, 4), (4096, 8), (8192, 8), (8192, 16))],
                 key=["R", "D"])
@triton.jit
def softmax_long(x, y, R, D, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * D
    d = tl.arange(0, BLOCK)
    top = tl.full((BLOCK,), float("-inf"), tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    for done in range(0, D, BLOCK):
        v = tl.load(x + row + done + d, mask=done + d < D, other=float("-inf")).to(tl.float32)
        higher = tl.maximum(top, v)
        grown = tl.where(higher == float("-inf"), 0.0, total * tl.exp(top - higher) + tl.exp(v - higher))
        top, total = higher, grown
    most = tl.max(top)
    scale = 1.0 / tl.sum(tl.where(top == float("-inf"), 0.0, total * tl.exp(top - most)))
    for done in range(0, D, BLOCK):
        v = tl.load(x + row + done + d, mask=done + d < D, other=0.0).to(tl.float32)
        tl.store(y + row + done + d, (tl.exp(v - most) * scale).to(tl.bfloat16), mask=done + d < D)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        R, D = x.shape
        y = torch.empty_like(x)
        if D <= IN_REGISTERS:
            softmax[(R,)](x, y, R, D, NO_MAXIMUM, BLOCK=triton.next_power_of_2(D))
        else:
            softmax_long[(R,)](x, y, R, D)
        return y
