# SPDX-License-Identifier: Apache-2.0
# The gated linear unit with the sigmoid's gate in bf16: a stream of elements, in single precision between.
# assay: task fusedops/swiglu/bf16_swiglu
# assay: twin SIGMOID expect wrong_value|low_precision -- the gate without its argument as a factor
import torch
import triton
import triton.language as tl

SIGMOID = globals().get("SIGMOID", False)
triton.knobs.autotuning.print = True


@triton.autotune([triton.Config({"BLOCK": b}, num_warps=w)
                  for b, w in ((512, 2), (1024, 4), (2048, 4), (2048, 8), (4096, 8), (8192, 8))], key=["n"])
@triton.jit
def swiglu(g, u, y, n, SIGMOID: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    gate = tl.load(g + at, mask=inside, other=0.0).to(tl.float32)
    v = 1.0 / (1.0 + tl.exp(-gate))
    if not SIGMOID:
        v *= gate
    tl.store(y + at, (v * tl.load(u + at, mask=inside, other=0.0).to(tl.float32)).to(tl.bfloat16), mask=inside)


class ModelNew(torch.nn.Module):
    def forward(self, g, u):
        y, n = torch.empty_like(g), g.numel()
        swiglu[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](g, u, y, n, SIGMOID)
        return y
