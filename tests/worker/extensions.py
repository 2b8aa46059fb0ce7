# SPDX-License-Identifier: Apache-2.0
"""extensions.py WORKER: on a GPU, where what a candidate compiles is compiled in its worker: what is made for the judge to
keep, before there is a workload, and what is taken of it. The compiler is the machine's; it is C++ that is compiled."""
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[1])))
HEAD = """import os
from torch.utils.cpp_extension import load, load_inline
SOURCE = '''
#include <Python.h>
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "three", nullptr, -1, nullptr};
extern "C" PyObject *PyInit_three() { PyObject *m = PyModule_Create(&definition); PyModule_AddIntConstant(m, "value", 3); return m; }
'''
class ModelNew: pass
"""
INLINE = 'three = load_inline("three", SOURCE, no_implicit_headers=True)\nassert three.value == 3\n'
FORMS = {
    "inline": HEAD + INLINE,
    "blank": HEAD + INLINE.replace("no_implicit_headers=True", "no_implicit_headers=True, extra_cflags=[''], extra_ldflags=['']"),
    "broken": HEAD.replace("PyModule_Create", "no_such_function") + INLINE,
    "files": HEAD + "with open(os.path.join(os.path.dirname(__file__), 'three.cpp'), 'w') as file:\n    file.write(SOURCE)\n"
             "three = load('three', [file.name])\n",
    "late": HEAD + "def later():\n    return load_inline('three', SOURCE, no_implicit_headers=True)\n",
}
PART = "import os, sys\nsys.path.insert(0, sys.argv[1])\nimport worker\n"
MAKE = PART + "worker.make_extensions(sys.argv[2], [])\n"
TAKE = PART + """
import subprocess
worker.take_extensions(sys.argv[2])
class Popen(subprocess.Popen):
    def __init__(self, command, *arguments, **options):
        print("compiled")
        os._exit(7)
subprocess.Popen = Popen
subprocess.run = Popen
worker.load_source(sys.argv[2], [])
print("taken")
"""
failed = 0


def check(what, good):
    global failed
    failed += not good
    print("ok    " if good else "FAILED", what)


def run(text, folder):
    environment = dict(os.environ, TORCH_EXTENSIONS_DIR=str(folder / "extensions"), TMPDIR=str(folder))
    return subprocess.run([sys.executable, "-c", text, os.path.dirname(os.path.abspath(sys.argv[1])),
                           str(folder / "candidate.py")], capture_output=True, text=True, env=environment)


with tempfile.TemporaryDirectory() as work:
    found = {}
    for form, source in FORMS.items():
        folder = pathlib.Path(work, form)
        folder.mkdir()
        (folder / "candidate.py").write_text(source)
        done = run(MAKE, folder)
        there = sorted(p.name for p in folder.glob("extensions/*"))
        found[form] = there, [p.name for p in folder.glob("extensions/*/*.so")]
        check(f"{form}: {there}, {found[form][1]}, exit {done.returncode}", done.returncode == 0)
    check("text is kept, with what it was made with", found["inline"][1] == ["three.so"] and "made_with" in found["inline"][0])
    check("so it is with flags that are none, as they are often written", found["blank"][1] == ["three.so"])
    check("where nothing is compiled on import, that is kept", found["late"][0] == ["made_with"])
    check("what is made of files is not compiled here", found["files"][0] == ["made_with"])
    check("what does not compile is not kept", "made_with" not in found["broken"][0])
    said = (pathlib.Path(work, "broken", "failed").read_text() if pathlib.Path(work, "broken", "failed").exists() else "")
    check(f"and is said: {said}", "no_such_function" in said and said.startswith("candidate.py:6:"))
    check("without fail where all is well", not pathlib.Path(work, "inline", "failed").exists())
    taken = run(TAKE, pathlib.Path(work, "inline"))
    check(f"it is taken, and nothing is compiled: {taken.stdout.strip()}", taken.stdout == "taken\n")
    made_with = pathlib.Path(work, "blank", "extensions", "made_with")
    made_with.write_text("another compiler\n")
    anew = run(TAKE, pathlib.Path(work, "blank"))
    check(f"what another compiler made is compiled anew: {anew.stdout.strip()}", anew.stdout == "compiled\n")
    other = pathlib.Path(work, "inline", "candidate.py")
    other.write_text(other.read_text().replace('"value", 3', '"value", 4'))
    compiled = run(TAKE, pathlib.Path(work, "inline"))
    check(f"another text is compiled: {compiled.stdout.strip()}", compiled.stdout == "compiled\n")
sys.exit(1 if failed else 0)
