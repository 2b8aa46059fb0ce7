from kernelbenchx.suite import SUITE

SUITE.missing("Optimizer", "not written yet",
              "Adam", "AdamW", "Lion", "RMSProp", "SGD")
