# assay: task kernelbench/1/19
# assay: expect pass
# assay: twin FLAGS expect pass -- one source, other flags
# assay: twin TWICE expect pass -- the same extension is loaded twice
# assay: twin SWAPPED expect wrong_value -- really the wrong one of the two
# assay: twin FILES expect pass -- of files, whose content decides
# assay: twin OTHERS expect load_failed -- another source than the one that was built
"""Two extensions of one name: each call of load_inline gets what it asked for."""
import os

import torch
from torch.utils import cpp_extension

names, here = globals(), os.path.dirname(os.path.abspath(__file__))
SOURCE = """
#include <Python.h>
#ifndef LEAST
#define LEAST %s
#endif
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
static PyObject *clamp(PyObject *self, PyObject *args) {
  long long from, to, n;
  if (!PyArg_ParseTuple(args, "LLL", &from, &to, &n)) return nullptr;
  const float *x = (const float *)from;
  float *y = (float *)to;
  for (long long i = 0; i < n; i++) y[i] = x[i] < LEAST ? LEAST : x[i];
  Py_RETURN_NONE;
}
static PyMethodDef methods[] = {{"clamp", clamp, METH_VARARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "clamp", nullptr, -1, methods};
extern "C" PyObject *JOIN(PyInit_, TORCH_EXTENSION_NAME)() { return PyModule_Create(&definition); }
"""
building = not os.path.exists(os.path.join(here, "extensions"))


def extension(least, *flags):
    source = SOURCE % least
    if "FILES" not in names:
        return cpp_extension.load_inline("clamp", source, extra_cflags=list(flags), no_implicit_headers=True)
    path = os.path.join(here, f"clamp_{least.strip('-')}", "clamp.cpp")
    if building:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(source)
    return cpp_extension.load("clamp", [path], extra_cflags=list(flags))


if "FLAGS" in names:
    copies, clamps = extension("0", "-DLEAST=-2"), extension("0", "-DLEAST=0")
elif "TWICE" in names:
    copies, clamps = extension("0"), extension("0")
elif "OTHERS" in names:
    copies, clamps = extension("-2"), extension("0" if building else "0.0")
else:
    copies, clamps = extension("-2"), extension("0")
if "SWAPPED" in names:
    copies, clamps = clamps, copies


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        clamps.clamp(x.data_ptr(), y.data_ptr(), x.numel())
        return y
