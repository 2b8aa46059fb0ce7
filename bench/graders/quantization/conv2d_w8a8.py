# SPDX-License-Identifier: Apache-2.0
# assay: task kernelbenchx/Quantization/conv2d_w8a8
# assay: expect pass
# assay: twin UNQUANTIZED expect low_precision|wrong_value -- convolves what the integers stand for
import torch
import torch.nn.functional as F


def conv2d_w8a8(input, input_scale, weight, weight_scale):
    if "UNQUANTIZED" in globals():
        return F.conv2d(input * input_scale, weight * weight_scale[:, None], padding=1)
    return F.conv2d(input.double(), weight.double(), padding=1).float() * input_scale * weight_scale
