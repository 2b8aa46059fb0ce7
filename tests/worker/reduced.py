# SPDX-License-Identifier: Apache-2.0
"""reduced.py WORKER: PyTorch's switches for sums in 16 bits are off where a candidate is loaded, and one that turns them on is named."""
import contextlib
import io
import os
import sys
import tempfile

import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[1])))
import worker

SWITCHES = torch.backends.cuda.matmul


def loaded(source):
    """The module of a file of this source, and what is said while it is loaded."""
    SWITCHES.allow_bf16_reduced_precision_reduction = SWITCHES.allow_fp16_reduced_precision_reduction = True
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file, contextlib.redirect_stderr(io.StringIO()) as said:
        file.write(source)
        file.flush()
        return worker.load_source(file.name, []), said


SEEN = "import torch\nseen = [torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction, " \
       "torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction]\n"
module, said = loaded(SEEN)
assert module.seen == [False, False] and said.getvalue() == "", (module.seen, said.getvalue())
module, said = loaded(SEEN + "torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = True\n")
assert said.getvalue() == "assay: reduced: torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction\n", said.getvalue()
