# SPDX-License-Identifier: Apache-2.0
# TF32 by PyTorch's switch.
# assay: task kernelbench/1/1
# assay: expect low_precision|wrong_value
import torch, torch.nn as nn
torch.backends.cuda.matmul.allow_tf32 = True
class ModelNew(nn.Module):
    def forward(self, A, B):
        return A @ B
