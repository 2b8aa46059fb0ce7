# cuBLAS through PyTorch.
# assay: task kernelbench/1/1
# assay: expect pass
# assay: twin TF32 expect low_precision|wrong_value
import torch

names = globals()
if "TF32" in names:
    torch.backends.cuda.matmul.allow_tf32 = True


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        return a @ b
