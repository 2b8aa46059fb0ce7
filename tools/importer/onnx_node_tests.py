#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the operator tests of the installed package onnx as files, for the conformance test.

usage: onnx_node_tests.py DIR        (needs the package onnx, and what its tests compute with: numpy, Pillow for some)

    tools/importer/onnx_node_tests.py /tmp/node && build/conformance /tmp/node 0

DIR/test_abs/model.onnx and DIR/test_abs/test_data_set_0/input_0.pb, output_0.pb, ...: as libonnx-testdata has them, whose
models are those of an older release. Since 1.20 the package has the code that makes them in place of the files.
"""
import pathlib
import sys
import warnings

import onnx
from onnx import numpy_helper


def as_proto(value, declared):
    """A value of a test as the message that its declared type is kept in."""
    if isinstance(value, onnx.TensorProto):
        return value
    if declared.type.HasField("sequence_type"):
        return numpy_helper.from_list(value, declared.name)
    if declared.type.HasField("optional_type"):
        return numpy_helper.from_optional(value, declared.name)
    if declared.type.HasField("map_type"):
        return numpy_helper.from_dict(value, declared.name)
    return numpy_helper.from_array(value, declared.name)


def write_case(case, folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(case.model.SerializeToString())
    graph = case.model.graph
    for number, (inputs, outputs) in enumerate(case.data_sets):
        data = folder / f"test_data_set_{number}"
        data.mkdir(exist_ok=True)
        for kind, values, declared in ("input", inputs, graph.input), ("output", outputs, graph.output):
            for i, value in enumerate(values):
                (data / f"{kind}_{i}.pb").write_bytes(as_proto(value, declared[i]).SerializeToString())


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    warnings.filterwarnings("ignore")  # NumPy's, of values that overflow on purpose
    from onnx.backend.test.case import node
    folder, written, failed = pathlib.Path(sys.argv[1]), 0, []
    for case in node.collect_testcases():
        try:
            write_case(case, folder / case.name)
            written += 1
        except Exception as error:  # of a test that needs what is not installed
            failed.append(f"{case.name}: {type(error).__name__}: {error}")
    print("\n".join(failed), file=sys.stderr)
    print(f"onnx {onnx.__version__}: {written} models written, {len(failed)} not")


if __name__ == "__main__":
    main()
