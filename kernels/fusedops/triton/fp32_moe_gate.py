# SPDX-License-Identifier: Apache-2.0
# The router of a mixture of experts: the product is the library's, in single precision without tf32; the eight largest
# gates, made to add up to 1, are a kernel. Softmax over all experts cancels: those of the eight are left.
# assay: task fusedops/moe_gate/fp32_moe_gate
# assay: twin ALL_EXPERTS expect wrong_value|low_precision -- the gates of a softmax over all experts
import torch
import triton
import triton.language as tl

ALL_EXPERTS = globals().get("ALL_EXPERTS", False)
torch.backends.cuda.matmul.allow_tf32 = False
triton.knobs.autotuning.print = True


@triton.autotune([triton.Config({}, num_warps=w) for w in (1, 2, 4)], key=["R", "E"])
@triton.jit
def gates(l, y, R, E, ALL_EXPERTS: tl.constexpr, BLOCK: tl.constexpr):
    r = tl.program_id(0).to(tl.int64)
    e, place = tl.arange(0, BLOCK), tl.arange(0, 8)
    left = tl.load(l + r * E + e, mask=e < E, other=float("-inf"))
    first = tl.max(left)
    total = tl.sum(tl.exp(left - first))
    best = tl.zeros((8,), tl.float32)
    for i in range(8):
        at = tl.argmax(left, 0)
        best = tl.where(place == i, tl.exp(tl.max(left) - first), best)
        left = tl.where(e == at, float("-inf"), left)
    if not ALL_EXPERTS:
        total = tl.sum(best)
    tl.store(y + r * 8 + place, best / total)


class ModelNew(torch.nn.Module):
    def __init__(self, D, E):
        super().__init__()
        self.w = torch.nn.Parameter(torch.empty((D, E)), requires_grad=False)

    def forward(self, x):
        l = torch.matmul(x, self.w)
        R, E = l.shape
        y = torch.empty((R, 8), dtype=l.dtype, device=l.device)
        gates[(R,)](l, y, R, E, ALL_EXPERTS, BLOCK=triton.next_power_of_2(E))
        return y


def get_init_inputs(D, E):
    return [D, E]
