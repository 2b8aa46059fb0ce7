# SPDX-License-Identifier: Apache-2.0
"""A task file, as far as its original needs it."""
import pathlib
import re

HOUSE = pathlib.Path(__file__).resolve().parents[3]
PROBES = ("zero_mean", "row_scales", "heavy_mean", "integers", "subnormal")


class Task:
    def __init__(self, level, path):
        self.level, self.path, self.number = level, path, int(path.name[:3])
        self.name = f"kernelbench/{level}/{self.number}"
        text = path.read_text()
        self.properties = dict(re.findall(r'"(assay\.[^"]+)" : "([^"]*)"', text))
        head = text.split("\n>\n", 1)[1].split("=>")[0]
        inputs = re.findall(r"(\w+)(\[[^\]]*\])? (\w+)\s*[,)]", head)
        self.dims = {name: re.findall(r"\w+", dims) for _, dims, name in inputs}
        self.dtypes = {name: dtype for dtype, _, name in inputs}

    def sizes(self, workload):
        pairs = (pair.split("=") for pair in self.properties["assay.workload." + workload].split(","))
        return {symbol.strip(): int(value) for symbol, value in pairs}

    def workloads(self):
        names = [key.rsplit(".", 1)[1] for key in self.properties if key.startswith("assay.workload.")]
        return [name for name in names if name != "full"]

    def probes(self):
        """The default ones that the task keeps."""
        dropped = [p.strip()[1:] for p in self.properties.get("assay.probes", "").split(",") if p.strip()[:1] == "-"]
        return [p for p in PROBES if p not in dropped]

    def other_graph(self):
        """Whether the default form's graph is not the published one."""
        return any(key.startswith("assay.published.constant.") for key in self.properties)

    def published(self, name):
        return self.properties.get("assay.published.input." + name, self.properties["assay.input." + name])

    def shape(self, name, sizes):
        return tuple(int(d) if d.isdigit() else sizes[d] for d in self.dims[name])

    def weights(self):
        return [name for name in self.dims if "static" in self.published(name)]

    def data(self):
        return [name for name in self.dims if "static" not in self.published(name)]


def tasks_of(level):
    folder = HOUSE / "tasks" / "kernelbench" / f"level{level}"
    return [Task(level, path) for path in sorted(folder.glob("*.onnxtxt"))]
