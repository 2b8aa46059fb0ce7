# SPDX-License-Identifier: Apache-2.0
# One of the columns left out.
# assay: task kernelbench/2/59
# assay: expect wrong_value
import torch, torch.nn as nn
class ModelNew(nn.Module):
    def __init__(self, in_features, out_features, scaling_factor):
        super().__init__()
        self.matmul = nn.Linear(in_features, out_features)
        self.scaling_factor = scaling_factor
    def forward(self, x):
        h = in_place = torch.nn.functional.linear(x[:, :-1], self.matmul.weight[:, :-1], self.matmul.bias)
        return torch.nn.functional.silu(h).mul_(self.scaling_factor)
