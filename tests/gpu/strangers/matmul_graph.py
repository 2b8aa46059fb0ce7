# SPDX-License-Identifier: Apache-2.0
# A CUDA graph captured in the first call and replayed.
# assay: task kernelbench/1/1
# assay: expect pass
import torch, torch.nn as nn
class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.graphs = {}
    def forward(self, A, B):
        key = (A.shape, B.shape)
        if key not in self.graphs:
            a, b = A.clone(), B.clone()
            s = torch.cuda.Stream(); s.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(s):
                for _ in range(3): torch.mm(a, b)
            torch.cuda.current_stream().wait_stream(s)
            g = torch.cuda.CUDAGraph()
            with torch.cuda.graph(g):
                c = torch.mm(a, b)
            self.graphs[key] = (g, a, b, c)
        g, a, b, c = self.graphs[key]
        a.copy_(A); b.copy_(B); g.replay()
        return c
