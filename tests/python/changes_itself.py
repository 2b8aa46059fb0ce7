# assay: task kernelbench/1/19
# assay: expect build_failed
# assay: twin REWRITTEN expect build_failed -- another source, of the same length, is there afterwards
# assay: twin LINKED expect build_failed -- a link to it
# assay: twin LARGE expect build_failed -- a file of its own in place of the build's line of versions
# assay: twin NONE expect build_failed -- nothing in place of it
# assay: twin BYTECODE expect pass -- other bytecode beside its source, which Python's loader would take for it: nobody runs it
# assay: twin HONEST expect pass
"""What a build imports, since it has the word cpp_extension, and what writes in the build's folder there: the file removes
its own source, or does something else to it. It gets a verdict, and the files beside it are judged."""
import importlib.util
import marshal
import os

import torch

names, here = globals(), os.path.dirname(os.path.abspath(__file__))
built = os.path.join(here, "candidate.so")
if os.access(here, os.W_OK) and "HONEST" not in names:
    if "REWRITTEN" in names:
        with open(__file__, "rb+") as file:
            file.write(b"#?")
    elif "LINKED" in names:
        os.rename(__file__, __file__ + ".txt")
        os.symlink(__file__ + ".txt", __file__)
    elif "BYTECODE" in names:
        other = compile("import torch\nclass ModelNew(torch.nn.Module):\n  def forward(self, x): return x", __file__, "exec")
        place = importlib.util.cache_from_source(__file__)
        if not os.path.exists(place):
            os.makedirs(os.path.dirname(place))
            with open(place, "wb") as file:  # that need not be checked against the source
                file.write(importlib.util.MAGIC_NUMBER + bytes([1, 0, 0, 0]) + bytes(8) + marshal.dumps(other))
    elif "LARGE" in names:
        with open(built, "w") as file:
            file.write("x" * 5000)
        os._exit(0)
    elif "NONE" in names:
        os._exit(0)
    else:
        os.unlink(__file__)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
