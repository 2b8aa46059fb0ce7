# Half precision in a task of single precision: both factors are rounded to 11 bits.
# beside: cheat 81
# assay: task kernelbench/2/86
# assay: expect low_precision|wrong_value|wrong_class
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, input_size, output_size, divisor):
        super().__init__()
        self.linear = nn.Linear(input_size, output_size)
        self.divisor = divisor

    def forward(self, x):
        y = torch.matmul(x.half(), self.linear.weight.half().t()).float() + self.linear.bias
        return torch.nn.functional.gelu(y / self.divisor)
