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

VGG = ("N=1..10, H=32..224, W=32..224, C64=2..64, C128=4..128, C256=8..256, C512=16..512, FEATURES=(C512*(H/32)*(W/32)), "
       "C4096=128..4096, CLASSES=1..1000")

# Of images that are flattened or cut into tokens: how many numbers are left follows from height and width.
SHAPES = {
    4: "N=1..4096, H=16..64, W=16..64, FEATURES=(16*(((H-4)/2-4)/2)*(((W-4)/2-4)/2)), CLASSES=1..31",
    5: "N=1..1024, H=63..224, W=63..224, C96=3..96, C256=8..256, C384=12..384, "
       "FEATURES=(C256*(((((H-3)/4-1)/2-1)/2-1)/2)*(((((W-3)/4-1)/2-1)/2-1)/2)), C4096=128..4096, CLASSES=1..1000",
    11: VGG,
    12: VGG,
    28: "N=1..5, H=16..224/16, W=H, TOKENS=((H/16)*(H/16)+1), C512=8..512/8, C1536=3*C512, C2048=32..2048, "
        "CLASSES=1..31",
    32: "N=1..10, H=4..32, W=4..32, C128=4..128/4, FEATURES=(C128*(H/4)*(W/4)), C384=3*C128, C512=16..512, "
        "CLASSES=1..1000",
    44: "M=1..128, S=1..512, E=8..768/8, E3=3*E, E4=4*E",  # the module's own 4, which no argument changes
}

LEVEL = Level(3, count=50, ragged_limit=1 << 18, shapes=SHAPES)
for part in (level3_networks, level3_transformers, level3_sequences):
    part.tasks(LEVEL)

if __name__ == "__main__":
    LEVEL.main()
