from kernelbenchx.suite import SUITE

SUITE.missing("Convolution", "not written yet",
              "conv2d", "conv_transpose2d")
