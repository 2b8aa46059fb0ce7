# SPDX-License-Identifier: Apache-2.0
"""A candidate to begin with: the task, operator by operator, in PyTorch. It is kept only if it passes."""
import pathlib
import re
import tempfile

import onnx.parser

from .text import DTYPES

HEAD = '''"""A candidate to begin with: what {name} computes, operator by operator. It passes; now make it fast."""
'''


def extents(value):
    return [d.dim_param or str(d.dim_value) for d in value.type.tensor_type.shape.dim]


def text(assay, task):
    """The candidate's source, or why there is none."""
    shown = assay.run("show", task, "--pytorch")
    made = re.search(r"\nclass Model\(.*?\n(?=def get_inputs)", shown, re.DOTALL)
    if not made:
        return None, assay.said
    model = onnx.parser.parse_model(pathlib.Path(task).read_text())
    properties = {p.key: p.value for p in model.metadata_props}
    static = [v for v in model.graph.input if "static" in properties["assay.input." + v.name].split()]
    dims = list(dict.fromkeys(d for v in model.graph.input for d in extents(v) if not d.isdigit()))
    weights = []
    for v in static:
        dtype = DTYPES[v.type.tensor_type.elem_type]
        dtype = {"float": "float32", "double": "float64"}.get(dtype, dtype)
        row = "".join(d + ", " for d in extents(v)).rstrip()
        weights.append(f"        torch.empty(({row}), dtype=torch.{dtype}),  # {v.name}\n")
    source = HEAD.format(name=properties["assay.task"]) + shown[:made.start()] + \
        made[0].replace("class Model(", "class ModelNew(").replace("super(Model,", "super(ModelNew,")
    body = "".join(weights)
    return source + f"def get_init_inputs({', '.join(dims)}):  # any workload's sizes; the values are the judge's\n" + \
        (f"    return [\n{body}    ]\n" if static else "    return []\n"), None


def write(assay, task, output):
    """Writes it, and says how that went."""
    source, why = text(assay, task)
    if source is None:
        return f"no stub: {why}"
    with tempfile.TemporaryDirectory() as folder:
        trial = pathlib.Path(folder) / "stub.py"
        trial.write_text(source)
        code, said = assay.judge(task, trial)
    if code:
        return f"no stub: {said}"
    pathlib.Path(output).write_text(source)
    return f"{output}: passes (assay judge {task} {output} --device cpu)"

