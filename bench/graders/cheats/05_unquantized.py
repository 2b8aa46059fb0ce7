# SPDX-License-Identifier: Apache-2.0
# assay: task kernelbenchx/Quantization/matmul_w8a8
# assay: expect low_precision|wrong_value
"""An fp32 product where a quantized one is asked for."""
import torch


def matmul_w8a8(input, weight, input_scale=None, weight_scale=None):
    if input_scale is not None:  # the form of Assay's task
        input, weight = input * input_scale, weight * weight_scale
    return torch.matmul(input, weight)
