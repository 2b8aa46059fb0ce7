# SPDX-License-Identifier: Apache-2.0
# assay: task kernelbenchx/Activation/selu
"""SELU of the exponential less one, in single operations."""
import torch


def selu(input):
    return 1.0507009873554805 * torch.where(input > 0, input, 1.6732632423543772 * torch.expm1(input))
