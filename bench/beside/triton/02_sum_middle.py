# Sums over the middle dimension: a program has 128 neighbouring columns of a matrix and goes down its rows, 32 at once.
# beside: honest
# assay: task kernelbench/1/47
# assay: expect pass
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def sum_middle(x, y, rows, columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    matrix = tl.program_id(1).to(tl.int64)
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in range(0, rows, ROWS):
        row = start + tl.arange(0, ROWS)
        inside = (row[:, None] < rows) & (column[None, :] < columns)
        total += tl.load(x + matrix * rows * columns + row[:, None] * columns + column[None, :], mask=inside, other=0.0)
    tl.store(y + matrix * columns + column, tl.sum(total, axis=0), mask=column < columns)


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        if dim != 1:
            raise ValueError("this kernel sums over the middle dimension")

    def forward(self, x):
        x = x.contiguous()
        batch, rows, columns = x.shape
        y = torch.empty((batch, 1, columns), device=x.device, dtype=x.dtype)
        sum_middle[(triton.cdiv(columns, 128), batch)](x, y, rows, columns, ROWS=32, COLUMNS=128)
        return y
