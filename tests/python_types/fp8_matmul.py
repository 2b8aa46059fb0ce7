# SPDX-License-Identifier: Apache-2.0
# Tensors of float8 reach a module, as a GPU's eager execution has them.
# assay: task fusedops/matmul/fp8_matmul
# assay: expect pass
# assay: twin HALF expect wrong_value|low_precision -- a sum that is half as large
import torch

scale = 0.5 if globals().get("HALF") else 1.0


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        assert a.dtype == b.dtype == torch.float8_e4m3fn
        return (scale * (a.float() @ b.float())).to(torch.bfloat16)
