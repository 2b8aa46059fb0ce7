# SPDX-License-Identifier: Apache-2.0
# assay: task kernelbenchx/Activation/sigmoid
"""The sigmoid in three operations."""
import torch


def sigmoid(input):
    return torch.reciprocal(torch.exp(-input) + 1)
