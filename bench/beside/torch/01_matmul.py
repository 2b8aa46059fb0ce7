# PyTorch's own matrix product, in single precision, as the reference has it.
# beside: honest
# assay: task kernelbench/1/1
# assay: expect pass
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, A, B):
        return torch.matmul(A, B)
