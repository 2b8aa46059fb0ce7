# SPDX-License-Identifier: Apache-2.0
# A product in half precision.
# assay: task kernelbench/2/12
# assay: expect low_precision|wrong_value|wrong_class
import torch, torch.nn as nn, torch.nn.functional as F
class ModelNew(nn.Module):
    def __init__(self, in_features, out_features, multiplier, negative_slope):
        super().__init__()
        self.gemm = nn.Linear(in_features, out_features)
        self.multiplier, self.negative_slope = multiplier, negative_slope
    def forward(self, x):
        y = F.linear(x.half(), self.gemm.weight.half(), self.gemm.bias.half()).float()
        return F.leaky_relu(y * self.multiplier, self.negative_slope)
