# SPDX-License-Identifier: Apache-2.0
# assay: task kernelbenchx/Optimizer/Adam
# assay: expect raised|wrong_value
"""An optimizer that has hyper-parameters and takes no step."""
import torch


class Adam:
    def __init__(self, params, **hyper):
        self.defaults = torch.optim.Adam([torch.zeros(1)], **hyper).defaults
