# SPDX-License-Identifier: Apache-2.0
# Half of the work on a stream of its own, waited for.
# assay: task kernelbench/1/19
# assay: expect pass
import torch, torch.nn as nn
class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.s = None
    def forward(self, x):
        if self.s is None: self.s = torch.cuda.Stream()
        y = torch.empty_like(x)
        h = x.shape[0] // 2
        self.s.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.s):
            torch.clamp(x[:h], min=0, out=y[:h])
        torch.clamp(x[h:], min=0, out=y[h:])
        torch.cuda.current_stream().wait_stream(self.s)
        return y
