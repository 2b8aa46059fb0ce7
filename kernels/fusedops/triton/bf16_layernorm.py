# SPDX-License-Identifier: Apache-2.0
# Layer normalisation of rows in bf16, a program a row, which it keeps in registers: mean, then variance around it, in
# single precision.
# assay: task fusedops/layernorm/bf16_layernorm
# assay: twin NO_AFFINE expect wrong_value|low_precision -- neither scale nor shift
# assay: twin UNBIASED expect wrong_value|low_precision|wrong_class -- divides by one less
import torch
import triton
import triton.language as tl

NO_AFFINE, UNBIASED = globals().get("NO_AFFINE", False), globals().get("UNBIASED", False)
triton.knobs.autotuning.print = True


@triton.autotune([triton.Config({}, num_warps=w) for w in (1, 2, 4, 8, 16)], key=["R", "D"])
@triton.jit
def layernorm(x, w, b, y, R, D, NO_AFFINE: tl.constexpr, UNBIASED: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * D
    d = tl.arange(0, BLOCK)
    inside = d < D
    v = tl.load(x + row + d, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(v) / D
    v = tl.where(inside, v - mean, 0.0)
    variance = tl.sum(v * v) / (D - 1 if UNBIASED else D)
    v *= 1.0 / tl.sqrt(variance + 1e-5)
    if not NO_AFFINE:
        v = v * tl.load(w + d, mask=inside, other=0.0).to(tl.float32) + tl.load(b + d, mask=inside, other=0.0).to(tl.float32)
    tl.store(y + row + d, v.to(tl.bfloat16), mask=inside)


class ModelNew(torch.nn.Module):
    def __init__(self, D):
        super().__init__()
        self.w = torch.nn.Parameter(torch.empty((D,), dtype=torch.bfloat16), requires_grad=False)
        self.b = torch.nn.Parameter(torch.empty((D,), dtype=torch.bfloat16), requires_grad=False)

    def forward(self, x):
        R, D = x.shape
        y = torch.empty_like(x)
        layernorm[(R,)](x, self.w, self.b, y, R, D, NO_AFFINE, UNBIASED, BLOCK=triton.next_power_of_2(D))
        return y


def get_init_inputs(D):
    return [D]
