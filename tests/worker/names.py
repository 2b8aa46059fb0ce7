# SPDX-License-Identifier: Apache-2.0
"""names.py WORKER: the functions that worker.py calls are in the libraries next to it."""
import ctypes
import os
import re
import sys


def main():
    folder = os.path.dirname(sys.argv[1])
    with open(sys.argv[1], encoding="utf-8") as file:
        source = file.read()
    for library, prefix in ("assay-lift.so", "assay_lift_"), ("assay-worker.so", "assay_worker_"):
        names = sorted(set(re.findall(rf"\b{prefix}\w+", source)))
        loaded = ctypes.CDLL(os.path.join(folder, library))
        missing = [name for name in names if not hasattr(loaded, name)]
        if missing or not names:
            sys.exit(f"{library} has no {', '.join(missing) or 'name that the worker calls'}")
        print(f"{library}: {len(names)} names")


if __name__ == "__main__":
    main()
