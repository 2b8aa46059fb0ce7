# A linear layer from cuBLAS; bias, division and GELU in one kernel of its own behind it.
# beside: honest
# assay: task kernelbench/2/86
# assay: expect pass
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def divide_gelu(x, bias, y, n, columns, divisor, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    v = (tl.load(x + at, mask=inside) + tl.load(bias + at % columns, mask=inside)) / divisor
    tl.store(y + at, 0.5 * v * (1.0 + tl.erf(v * 0.7071067811865476)), mask=inside)


class ModelNew(nn.Module):
    def __init__(self, input_size, output_size, divisor):
        super().__init__()
        self.linear = nn.Linear(input_size, output_size)
        self.divisor = float(divisor)

    def forward(self, x):
        product = torch.matmul(x, self.linear.weight.t())
        y = torch.empty_like(product)
        n = product.numel()
        grid = (triton.cdiv(n, 1024),)
        divide_gelu[grid](product, self.linear.bias, y, n, product.shape[1], self.divisor, BLOCK=1024)
        return y
