#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tasks/kernelbench/level3/*.onnxtxt from the tables of its modules, and their tables in docs/evidence/kernelbench.md.

The task files are what counts and are committed; this script only keeps fifty of them consistent. Run it from
anywhere: `tools/tasks/make_level3.py` rewrites the files, `tools/tasks/make_level3.py --check` fails when a file differs.

Shapes, operators and constructor arguments are those of KernelBench v0.2, level 3; every graph is written anew in
ONNX's textual syntax, with a function for every block that repeats. Modules run as the published harness runs them, in
training; weights are named as in the modules' state_dict, with '_' for '.'.
"""
import level3_networks
import level3_sequences
import level3_transformers
from task_files import Level

LEVEL = Level(3, count=50, ragged_limit=1 << 18)
for part in (level3_networks, level3_transformers, level3_sequences):
    part.tasks(LEVEL)

if __name__ == "__main__":
    LEVEL.main()
