# SPDX-License-Identifier: Apache-2.0
# A buffer for the answer that is kept between calls.
# assay: task kernelbench/1/1
# assay: expect pass
import torch, torch.nn as nn
class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = None
    def forward(self, A, B):
        if self.out is None or self.out.shape != (A.shape[0], B.shape[1]) or self.out.device != A.device:
            self.out = torch.empty(A.shape[0], B.shape[1], device=A.device, dtype=A.dtype)
        torch.mm(A, B, out=self.out)
        return self.out
