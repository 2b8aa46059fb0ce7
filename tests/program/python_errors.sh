#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# python_errors.sh ASSAY TESTS: errors of Python candidates stand as compilers put theirs, with the user's own path, so
# that an editor finds the place; and an interpreter behind a script, as pyenv has them. 77: PyTorch is not there.
set -uo pipefail
. "$2/support/torch.sh"
assay=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$2/support/expect.sh"
mkdir "$work/sub"
cd "$work" || exit 1

# said NAME REASON TEXT: what is printed of the file sub/NAME.py, which is read from standard input
said() {
  cat >"sub/$1.py"
  expect 1 "^kernelbench/1/19 +$1.py +$2 .* sub/$1.py:$3" "$assay" judge kernelbench/1/19 "sub/$1.py" --device cpu \
    --workload "M=3, N=5" --no-timing --no-store --no-probes --checks 1
}
said syntax build_failed "3:32: error: expected ':'" <<'E2'
import torch
x = "\d"  # a warning, which is not the error
class ModelNew(torch.nn.Module)
    pass
E2
expect 1 "^sub/syntax.py:3:32: error: " "$assay" judge kernelbench/1/19 sub/syntax.py --device cpu --no-store
said bytes build_failed "2:3: error: the file is not UTF-8: byte 0xff" < <(printf 'import torch\n# \377\n')
said reply build_failed "1:[0-9]+: error: invalid syntax; line 3 is a Markdown fence" < <(printf 'Here is it:\n\n```python\nx = 1\n```\n')
said zero build_failed "1:1: error: .*null byte" < <(printf 'x\0\n')
said lacks load_failed "2:[0-9]+: error: ModuleNotFoundError: No module named 'no_such_module'" <<'E2'
import torch
import no_such_module
E2
# A package that kernels are made with, and that is not here, is the machine's want; one that a `try` spares is nobody's.
printf 'import torch\nimport cupy as cp\n' >sub/wants.py
expect 3 "not judged here, on device cpu: it needs CuPy.*ModuleNotFoundError: No module named 'cupy'" \
  "$assay" judge kernelbench/1/19 sub/wants.py --device cpu --no-store
# A file that takes away what would say what it raised.
cat >sub/mute.py <<'E2'
import ctypes, torch
ctypes.memmove = None
class ModelNew(torch.nn.Module):
    def forward(self, x):
        raise ValueError("mine")
E2
expect 1 "raised .*the worker cannot say what was raised: the candidate changed the worker" \
  "$assay" judge kernelbench/1/19 sub/mute.py --device cpu --no-store --no-timing
# One that stands in a function which nobody calls is not what the file failed for; nor is a toolkit that PyTorch did not find
# as it was imported.
cat >sub/unused.py <<'E2'
import torch
from torch.utils import cpp_extension
def unused():
    import cupy
    try:
        import triton
    except ImportError:
        return cpp_extension.load_inline("x", cpp_sources=[""], cuda_sources=["// x"])
class ModelNew(torch.nn.Module):
    def forward(self, x):
        raise ValueError("mine")
E2
expect 1 "raised .*ValueError: mine" "$assay" judge kernelbench/1/19 sub/unused.py --device cpu --no-store --no-timing
sed 's/raise ValueError.*/import cupy.random/' sub/unused.py >sub/used.py
expect 3 "needs CuPy, a GPU .*No module named 'cupy'" "$assay" judge kernelbench/1/19 sub/used.py --device cpu --no-store
# So with extensions and GPUs: what failed is another line, though PyTorch prints of CUDA when it looks for a toolkit.
cat >sub/built.py <<'E2'
import torch
from torch.utils.cpp_extension import load_inline
def unused():
    return load_inline("x", cpp_sources=[""], cuda_sources=["// x"])
class Other(torch.nn.Module):
    def __init__(self):
        self.f = unused()
import no_such_module
class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
E2
expect 1 "failed .*No module named 'no_such_module'" "$assay" judge kernelbench/1/19 sub/built.py --device cpu --no-store --no-timing
# Inductor compiles when it is called, which a module on the CPU may not: that is no fault of the module.
cat >sub/compiles.py <<'E2'
import torch
class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.run = torch.compile(torch.relu)
    def forward(self, x):
        return self.run(x)
E2
expect 3 "not judged here, on device cpu: it needs a GPU .*cannot be run: a module on the CPU runs in a locked process" \
  "$assay" judge kernelbench/1/19 sub/compiles.py --device cpu --no-store
sed 's/relu)/relu, backend="aot_eager")/' sub/compiles.py >sub/eager.py
expect 0 " pass " "$assay" judge kernelbench/1/19 sub/eager.py --device cpu --no-store --no-timing
printf 'try:\n    import triton.language as tl\n    import cupy\nexcept ImportError:\n    pass\n' >sub/tries.py
expect 0 "^missing: Triton, a GPU$" python3 -I -S "$2/../src/runner/worker.py" missing sub/tries.py cpu "NameError: name 'tl' is not defined"
# An extension with CUDA under another name, as tools/importer/assay-import writes solutions of others.
printf 'from torch.utils.cpp_extension import load_inline as _load\n_load("x", cpp_sources=[""], cuda_sources=["// x"])\n' >sub/other.py
expect 0 "^missing: .*a GPU$" python3 -I -S "$2/../src/runner/worker.py" missing sub/other.py cpu ""
sed 's/cuda_sources=.*/functions=["f"])/' sub/other.py >sub/plain.py
expect 0 "^missing: (.*[^U])?$" python3 -I -S "$2/../src/runner/worker.py" missing sub/plain.py cpu ""
said spares load_failed "6:[0-9]+: error: ModuleNotFoundError: No module named 'no_such_module'" <<'E2'
import torch
try:
    import cupy
except ImportError:
    cupy = None
import no_such_module
E2
said init raised "4:[0-9]+: error: ValueError: not today" <<'E2'
import torch
class ModelNew(torch.nn.Module):
    def __init__(self):
        raise ValueError("not\ntoday")
E2
said forward raised "3:[0-9]+: error: NameError: name 'undefined' is not defined" <<'E2'
import torch
def helper(x):
    return torch.relu(x + undefined)
class ModelNew(torch.nn.Module):
    def forward(self, x):
        return helper(x)
E2
said other raised "1:1: error: the file has no class ModelNew and no function kernel_function.* it has Model" <<'E2'
import torch
class Model(torch.nn.Module): pass
E2
said returns raised "3:5: error: it returned 2 values, and not the task.s output alone" <<'E2'
import torch
class ModelNew(torch.nn.Module):
    def forward(self, x):
        return [x, x]
E2
said function raised "2:1: error: it returned a NoneType, not a tensor" <<'E2'
import torch
def kernel_function(x):
    pass
E2
said arguments raised "3:5: error: forward\\(x, y\\) is called with the task.s inputs, x: let it take these" <<'E2'
import torch
class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        return x
E2
said dimension load_failed "4:1: error: get_init_inputs wants Q; this task's dimensions are M, N|raised .*4:1: error: get_init_inputs wants Q" <<'E2'
import torch
class ModelNew(torch.nn.Module):
    def forward(self, x): return x
def get_init_inputs(Q):
    return [Q]
E2

# A script in front of the interpreter, in a folder that a sandbox does not read.
mkdir "$work/shims"
printf '#!/bin/sh\n. %s/shims/settings && exec "$python" "$@"\n' "$work" >"$work/shims/python3"
chmod +x "$work/shims/python3"
echo "python=$(command -v "$ASSAY_PYTHON")" >"$work/shims/settings"
printf 'import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x): return torch.relu(x)\n' >right.py
judge=("$assay" judge kernelbench/1/19 right.py --device cpu --workload "M=3, N=5" --no-timing --no-store --no-probes --checks 1)
expect 0 "right.py +pass" env ASSAY_PYTHON="$work/shims/python3" "${judge[@]}"
expect 0 "right.py +pass" env -u ASSAY_PYTHON PATH="$work/shims:$PATH" "${judge[@]}"
expect 0 "^python +ok +PyTorch [^ ]*.*, $(command -v "$ASSAY_PYTHON")" env ASSAY_PYTHON="$work/shims/python3" "$assay" doctor
echo 'echo "no version is set" >&2; exit 127' >"$work/shims/settings"
expect 3 "shims/python3 does not work here: it is a script, .*no version is set.*; name that Python in ASSAY_PYTHON" \
  env ASSAY_PYTHON="$work/shims/python3" "${judge[@]}"
report
