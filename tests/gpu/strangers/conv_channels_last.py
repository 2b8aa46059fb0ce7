# SPDX-License-Identifier: Apache-2.0
# channels_last, in place afterwards.
# assay: task kernelbench/2/1
# assay: expect pass
import torch, torch.nn as nn
torch.backends.cudnn.allow_tf32 = False
class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels, kernel_size, bias_shape):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size).to(memory_format=torch.channels_last)
        self.bias = nn.Parameter(torch.randn(bias_shape))
    def forward(self, x):
        y = self.conv(x.contiguous(memory_format=torch.channels_last))
        return y.relu_().add_(self.bias).contiguous()
