# SPDX-License-Identifier: Apache-2.0
# The work on a stream that nobody waits for.
# assay: task kernelbench/1/19
# assay: expect wrong_value|late_work
import torch, torch.nn as nn
class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.s = None
    def forward(self, x):
        if self.s is None: self.s = torch.cuda.Stream()
        y = torch.empty_like(x)
        with torch.cuda.stream(self.s):
            torch.clamp(x, min=0, out=y)
        return y
