# Writes 24 files of 60 MiB in the build's folder: each is small enough for itself.
# assay: task kernelbench/1/19
# assay: expect build_limit
# cpp_extension: so that the build imports this file, in a sandbox that may write there
import os
import torch

here = os.path.dirname(os.path.abspath(__file__))
if os.access(here, os.W_OK):
    for i in range(24):
        with open(os.path.join(here, f"fill{i}"), "wb") as f:
            for _ in range(60):
                f.write(b"\1" * (1 << 20))


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
