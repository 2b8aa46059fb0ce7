# SPDX-License-Identifier: Apache-2.0
# Integers and their scales come in: that is what the task's form of this function has.
import torch


def kernel_function(input, input_scale, weight, weight_scale):
    sums = torch.matmul(input.to(torch.float64), weight.to(torch.float64))  # exact
    return sums.to(torch.float32) * input_scale * weight_scale
