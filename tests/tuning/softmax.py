# Softmax over rows, by slices of rows whose number a tuner chooses.
# assay: task fusedops/softmax/fp32_softmax
# assay: tune ROWS 16,1,64
# assay: tune KEEP True,False
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x) if KEEP else torch.zeros_like(x)
        for first in range(0, x.shape[0], ROWS):
            y[first:first + ROWS] = torch.softmax(x[first:first + ROWS], -1)
        return y
