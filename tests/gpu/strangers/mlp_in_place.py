# SPDX-License-Identifier: Apache-2.0
# Layers called one by one, in place.
# assay: task kernelbench/3/1
# assay: expect pass
import torch, torch.nn as nn
class Inner(nn.Module):
    def __init__(self, i, h, o):
        super().__init__()
        ls = []
        for n in h:
            ls += [nn.Linear(i, n), nn.ReLU(inplace=True)]
            i = n
        ls.append(nn.Linear(i, o))
        self.network = nn.Sequential(*ls)
    def forward(self, x):
        return self.network(x)
class ModelNew(nn.Module):
    def __init__(self, input_size, layer_sizes, output_size):
        super().__init__()
        self.network = Inner(input_size, layer_sizes, output_size).network
    def forward(self, x):
        for m in self.network:
            x = torch.relu_(x) if isinstance(m, nn.ReLU) else torch.addmm(m.bias, x, m.weight.t())
        return x
