# SPDX-License-Identifier: Apache-2.0
# The other GELU.
# assay: task kernelbench/1/26
# assay: expect wrong_value
import torch, torch.nn as nn
class ModelNew(nn.Module):
    def forward(self, x):
        return torch.nn.functional.gelu(x, approximate="tanh")
