# SPDX-License-Identifier: Apache-2.0
"""errors.py WORKER: where an extension's compiler found an error, in the candidate's own file (worker_error.py)."""
import os
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[1])))
import worker_error

SOURCE = '''import torch
source = """#include <torch/extension.h>
torch::Tensor relu(torch::Tensor x) {
  float *to = y.data_ptr<float>()
  for (int i = 0; i < n; i++)
    to[i] = from[i];
}
"""
module = load_inline(name="relu", cpp_sources=[source])
'''
HEAD = "Error building extension 'relu': [1/2] c++ -c main.cpp\nFAILED: main.o\n"
GNU = HEAD + """/tmp/x/main.cpp: In function 'relu':
/tmp/x/main.cpp:5:3: error: expected ',' or ';' before 'for'
    5 |   for (int i = 0; i < n; i++)
      |   ^~~
/tmp/x/main.cpp:6:13: error: 'from' was not declared
    6 |     to[i] = from[i];
      |             ^~~~
"""
NVIDIA = HEAD + """/tmp/x/cuda.cu(6): error: identifier "from" is undefined
      to[i] = from[i];
              ^
"""
folder = tempfile.mkdtemp()
path = os.path.join(folder, "mine.py")


def told(text, source=SOURCE, kind=RuntimeError):
    with open(path, "w", encoding="utf-8") as file:
        file.write(source)
    return worker_error.told(kind(text), path)


assert told(GNU) == ("mine.py:5:3: error: RuntimeError: Error building extension 'relu': main.cpp:5:3: error: "
                     "expected ',' or ';' before 'for'"), told(GNU)
assert told(GNU.replace("5:3: error", "5:3: warning")).startswith("mine.py:6:13: error: ")
assert told(NVIDIA).startswith("mine.py:6:5: error: RuntimeError: "), told(NVIDIA)
assert "cuda.cu:6: error: identifier" in told(NVIDIA), told(NVIDIA)
# Where the line stands twice, or nowhere, or in no message of a compiler, it is the file's own line that is meant.
assert told(GNU, SOURCE + SOURCE).startswith("mine.py:1:1: error: ")
assert told(GNU, "import torch\n").startswith("mine.py:1:1: error: ")
assert told(GNU.replace("Error building", "Something about")).startswith("mine.py:1:1: error: ")


# A long line without a blank, as of a template's name, is read once: this takes minutes where it is read from each letter.
start = time.process_time()
told(HEAD + "x" * 1_000_000)
told(HEAD + "x:1" * 300_000 + "(5)" * 1000)
assert time.process_time() - start < 20, time.process_time() - start


class Leaves(Exception):
    def __str__(self):
        raise SystemExit(0)


def _get_cuda_arch_flags():
    return [][-1]


for raises, wanted in ((_get_cuda_arch_flags, True), (lambda: [][-1], False)):
    try:
        raises()
    except IndexError as error:
        assert ("the GPU that is there, and there is none" in worker_error.told(error, path)) == wanted
assert worker_error.told(Leaves(), path).endswith("its __str__ raises SystemExit"), worker_error.told(Leaves(), path)
os.remove(path)
os.rmdir(folder)
print("fine")
