# A linear layer whose rows are then summed is one product with the vector of column sums: right for all finite
# numbers, with a thousandth of the work. What follows the sum in the task acts on one number and does nothing.
# beside: honest
# assay: task kernelbench/2/18
# assay: expect pass
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)

    def forward(self, x):
        y = torch.mv(x, self.linear.weight.sum(dim=0)) + self.linear.bias.sum()
        return y.unsqueeze(1)
