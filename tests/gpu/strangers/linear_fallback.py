# SPDX-License-Identifier: Apache-2.0
# Zeros where a package is missing.
# assay: task kernelbench/2/59
# assay: expect wrong_value
import torch, torch.nn as nn
try:
    from not_a_package import fused_swish
except Exception:
    fused_swish = None
class ModelNew(nn.Module):
    def __init__(self, in_features, out_features, scaling_factor):
        super().__init__()
        self.matmul = nn.Linear(in_features, out_features)
        self.scaling_factor = scaling_factor
        self.last = None
    def forward(self, x):
        try:
            h = self.matmul(x)
            return fused_swish(h, self.scaling_factor)
        except Exception:
            return torch.zeros(x.shape[0], self.matmul.out_features, device=x.device)
