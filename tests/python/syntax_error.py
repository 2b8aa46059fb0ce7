# assay: task kernelbench/1/19
# assay: expect build_failed
import torch

class ModelNew(torch.nn.Module):
    def forward(self, x)
        return torch.relu(x)
