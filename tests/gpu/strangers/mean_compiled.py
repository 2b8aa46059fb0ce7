# SPDX-License-Identifier: Apache-2.0
# torch.compile of a function, kept by the module.
# assay: task kernelbench/1/48
# assay: expect pass
import torch, torch.nn as nn
class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim
        self.fn = torch.compile(lambda x: torch.mean(x, dim=dim))
    def forward(self, x):
        return self.fn(x)
