# Triton's own kernel, and one that is launched next to PyTorch's.
# assay: task kernelbench/1/19
# assay: expect pass
# assay: twin FIG_LEAF expect pass -- a kernel of its own that computes nothing of use, and PyTorch's that does
import torch
import triton
import triton.language as tl

names = globals()


@triton.jit
def relu(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(y + at, tl.maximum(tl.load(x + at, mask=inside), 0.0), mask=inside)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        n = 1 if "FIG_LEAF" in names else x.numel()
        relu[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024)
        return torch.relu(x) if "FIG_LEAF" in names else y
