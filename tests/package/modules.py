# SPDX-License-Identifier: Apache-2.0
"""modules.py SOURCE BUILD: PyTorch modules as tasks of the package `assay`."""
import os
import pathlib
import sys
import unittest

import torch

SOURCE, BUILD = map(pathlib.Path, sys.argv[1:3]) if __name__ == "__main__" else (None, None)
if SOURCE:
    sys.path.insert(0, str(SOURCE / "python"))
    os.environ["ASSAY_PREFIX"] = str(BUILD)
    import assay

KERNEL = """#include <assay/candidate.h>
void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data, *scale = args->inputs[1].data;
  float *y = args->outputs[0].data;
  int64_t n = assay_count(&args->inputs[0]), width = assay_count(&args->inputs[1]);
  for (int64_t i = 0; i < n; i++)
    y[i] = (x[i] < 0 ? 0 : x[i])SCALED;
}
"""
RIGHT, WRONG = KERNEL.replace("SCALED", " * scale[i % width]"), KERNEL.replace("SCALED", " + 0 * width * scale[0]")


class Scaled(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.rand(width) + 0.5)

    def forward(self, x):
        return torch.relu(x) * self.scale


def draw():
    return [torch.randn(16, 32)]


class Modules(unittest.TestCase):
    def test_module_is_a_task(self):
        module, before = Scaled(32), torch.nn.functional.dropout
        with assay.Judge() as judge:
            asked = {"inputs": draw, "language": "c", "timing": False}
            self.assertTrue(judge.judge(module, RIGHT, **asked).passed)
            self.assertIs(judge.judge(module, WRONG, **asked).reason, assay.Reason.WRONG_VALUE)  # imported once
        self.assertIs(before, torch.nn.functional.dropout)  # the importer's changes stay in its own process

    def test_what_cannot_be_a_task(self):
        with self.assertRaisesRegex(assay.UsageError, "inputs=lambda"):
            assay.import_task(Scaled(32))
        with self.assertRaisesRegex(assay.UsageError, "define them at the top of a file|cloudpickle") as raised:
            class Local(torch.nn.Module):
                pass
            assay.import_task(Local(), draw)
        self.assertIn("Local", str(raised.exception))
        with self.assertRaisesRegex(assay.NotFoundError, "no such file"):
            assay.judge(pathlib.Path("nosuch.py"), RIGHT, language="c")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
