# SPDX-License-Identifier: Apache-2.0
# assay: task kernelbenchx/Math/logit
"""The logarithm of one quotient."""
import torch


def logit(input):
    return torch.log(input / (1 - input))
