# SPDX-License-Identifier: Apache-2.0
# Root mean square normalisation of rows in bf16, a program a row, which it keeps in registers.
# assay: task fusedops/rms_norm/bf16_rms_norm
# assay: twin NO_SCALE expect wrong_value|low_precision -- leaves out the weights
import torch
import triton
import triton.language as tl

NO_SCALE = globals().get("NO_SCALE", False)
triton.knobs.autotuning.print = True


@triton.autotune([triton.Config({}, num_warps=w) for w in (1, 2, 4, 8, 16)], key=["R", "D"])
@triton.jit
def rms_norm(x, w, y, R, D, NO_SCALE: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * D
    d = tl.arange(0, BLOCK)
    inside = d < D
    v = tl.load(x + row + d, mask=inside, other=0.0).to(tl.float32)
    v *= 1.0 / tl.sqrt(tl.sum(v * v) / D + 1e-5)
    if not NO_SCALE:
        v *= tl.load(w + d, mask=inside, other=0.0).to(tl.float32)
    tl.store(y + row + d, v.to(tl.bfloat16), mask=inside)


class ModelNew(torch.nn.Module):
    def __init__(self, D):
        super().__init__()
        self.w = torch.nn.Parameter(torch.empty((D,), dtype=torch.bfloat16), requires_grad=False)

    def forward(self, x):
        R, D = x.shape
        y = torch.empty_like(x)
        rms_norm[(R,)](x, self.w, y, R, D, NO_SCALE, BLOCK=triton.next_power_of_2(D))
        return y


def get_init_inputs(D):
    return [D]
