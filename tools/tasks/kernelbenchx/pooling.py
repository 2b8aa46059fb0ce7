from kernelbenchx.suite import SUITE

SUITE.missing("Pooling", "not written yet",
              "adaptive_avg_pool2d", "avg_pool1d")
