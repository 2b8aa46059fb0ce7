# A task of level 2: weights by the names of its modules, gemm.weight is gemm_weight.
# assay: task kernelbench/2/76
# assay: expect pass
# assay: twin SWAPPED expect pass -- a parameter of another name is the weight that is left
# assay: twin TRANSPOSED expect load_failed -- but not one of another shape
import torch
from torch import nn

names = globals()


class ModelNew(nn.Module):
    def __init__(self, in_features, out_features, bias_shape):
        super().__init__()
        if "SWAPPED" in names:
            self.linear = nn.Linear(in_features, out_features, bias=False)
        else:
            self.gemm = nn.Linear(in_features, out_features, bias=False)
        self.bias = nn.Parameter(torch.randn(bias_shape))

    def forward(self, x):
        return torch.relu((self.linear if "SWAPPED" in names else self.gemm)(x) + self.bias)


def get_init_inputs(K, N):
    return [N, K, (N,)] if "TRANSPOSED" in names else [K, N, (N,)]
