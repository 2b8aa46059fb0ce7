#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tasks/kernelbench/level4/*.onnxtxt from the table in level4_models.py, and its tables in docs/evidence/kernelbench.md.

The task files are what counts and are committed; this script only keeps twenty of them consistent. Run it from
anywhere: `tools/tasks/make_level4.py` rewrites the files, `tools/tasks/make_level4.py --check` fails when a file differs.

Shapes are those of KernelBench v0.2, level 4; what the models compute is what the package transformers computes for
their published configurations, in evaluation. Every graph is written anew in ONNX's textual syntax, with a function for
the block that repeats. Weights are named as in the models' state_dict, with '_' for '.'.
"""
import level4_models
from task_files import Level

LEVEL = Level(4, count=20, ragged_limit=1 << 18)
level4_models.tasks(LEVEL)

if __name__ == "__main__":
    LEVEL.main()
