# A linear layer, divided, GELU: the bias is added by the product itself and the division is done in place.
# beside: honest
# assay: task kernelbench/2/86
# assay: expect pass
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, input_size, output_size, divisor):
        super().__init__()
        self.linear = nn.Linear(input_size, output_size)
        self.divisor = divisor

    def forward(self, x):
        y = torch.addmm(self.linear.bias, x, self.linear.weight.t())
        return torch.nn.functional.gelu(y.div_(self.divisor))
