# A file that is a program, too, saved by an editor that begins files with a mark (U+FEFF): options, a log, a harness.
# assay: task kernelbench/1/19
# assay: expect pass
# assay: twin WRITES expect raised -- a file, which cannot be made
import argparse
import logging
import sys

import torch

parser = argparse.ArgumentParser(description="Times my ReLU")
parser.add_argument("--repeat", type=int, default=10)
options = parser.parse_args()
logging.basicConfig(level=logging.INFO, stream=sys.stderr)
logging.getLogger(__name__).info("%d times", options.repeat)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        if "WRITES" in globals():
            with open("log.txt", "w") as file:
                file.write("called")
        return torch.relu(x)


if __name__ == "__main__":
    print([ModelNew()(torch.randn(1024)).sum() for _ in range(options.repeat)])
