# SPDX-License-Identifier: Apache-2.0
"""Places that are cut to integers: 10 * 0.7 is 7 in single precision, and a little less in double."""
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        at = (torch.arange(x.shape[1]) * 0.7).to(torch.int64)
        return x[:, at] * (x * 7.1).to(torch.int32)


def get_inputs():
    return [torch.randn(16, 64)]


def get_init_inputs():
    return []
