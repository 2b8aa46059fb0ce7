# SPDX-License-Identifier: Apache-2.0
# assay: task kernelbenchx/Quantization/matmul_w8a8
# assay: expect pass
# assay: twin UNQUANTIZED expect low_precision|wrong_value -- multiplies what the integers stand for
import torch


def matmul_w8a8(input, input_scale, weight, weight_scale):
    if "UNQUANTIZED" in globals():
        return (input * input_scale) @ (weight * weight_scale)
    sums = input.double() @ weight.double()  # exact, as sums in int32 are
    return sums.float() * input_scale * weight_scale
