"""The process of a Python candidate: the interpreter, PyTorch, and a ModelNew that is not trusted.

  worker.py serve  WORKER_LIBRARY CANDIDATE THREADS BUILD DEVICE DEFINE...
                                                                     one workload after another, on the CPU or a GPU
  worker.py lift   LIFT_LIBRARY BUILD                                workloads on a GPU, recorded (docs/python-candidates.md)
  worker.py check  CANDIDATE OUT DEFINE...                           the build: syntax, and extensions in C++
  worker.py syntax CANDIDATE OUT DEFINE...                           the build where extensions come later
  worker.py facts                                                    what this Python has, as JSON

Nothing in this file protects anything: the candidate runs in the same interpreter and may change all of it. What
protects is outside: inputs that are fresh for every call and mapped read-only, outputs that the judge reads through a
mapping of its own, the judge's clock, and a process that is frozen between calls. So this file may be simple.
"""
import contextlib
import ctypes
import ctypes.util
import gc
import glob
import inspect
import json
import os
import sys
import tempfile
import traceback

# ONNX's numbers (include/assay/candidate.h).
DTYPES = {1: "float32", 2: "uint8", 3: "int8", 6: "int32", 7: "int64", 9: "bool", 10: "float16", 11: "float64",
          16: "bfloat16"}
# What a parameter is called in formulas, where a task does not use the module's names.
SHORT = {"w": "weight", "b": "bias", "gamma": "weight", "beta": "bias"}


class Complaint(Exception):
    """The candidate does not fit the task; the text is for its author."""


def said(error, path):
    """One line: the exception, and the line of the candidate's file that raised it."""
    if isinstance(error, Complaint):
        return str(error)
    where = ""
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename == path:
            where = f" (line {frame.lineno})"
    text = " ".join(str(error).split())
    return f"{type(error).__name__}{': ' if text else ''}{text}{where}"


def defined(names):
    """NAME or NAME=VALUE from the command line: global names of the candidate."""
    pairs = (name.partition("=") for name in names)
    return {name: value if equals else "1" for name, equals, value in pairs}


def load_source(path, names):
    """The candidate's module. Its source is on disk, where Triton looks for it."""
    import importlib.util
    spec = importlib.util.spec_from_file_location("candidate", path)
    module = importlib.util.module_from_spec(spec)
    vars(module).update(defined(names))
    sys.modules["candidate"] = module
    spec.loader.exec_module(module)
    if not inspect.isclass(getattr(module, "ModelNew", None)):
        raise Complaint("the file has no class ModelNew")
    return module


# ---- a model for a workload

def takes(function, arguments):
    try:
        inspect.signature(function).bind(*arguments)
        return True
    except TypeError:
        return False


def init_arguments(module, symbols, usual):
    """What ModelNew is made with: get_init_inputs() of the candidate, which may take the task's dimensions by name. A
    candidate that does not ask for them gets what the suite's own module gets (`usual`, in dimensions), if that is known
    and its ModelNew takes as many."""
    function = getattr(module, "get_init_inputs", None)
    wanted = inspect.signature(function).parameters if function else {}
    if not wanted and usual is not None:
        own = usual.partition(";")[0]
        arguments = list(eval(f"[{own}]", {"__builtins__": {}}, dict(symbols)))  # of a file of the suite, trusted
        if function is None or takes(module.ModelNew, arguments):
            return arguments
    if function is None:
        return []
    unknown = [name for name in wanted if name not in symbols and wanted[name].default is inspect.Parameter.empty]
    if unknown:
        raise Complaint(f"get_init_inputs wants {', '.join(unknown)}; this task's dimensions are {', '.join(symbols)}")
    return function(**{name: symbols[name] for name in wanted if name in symbols})


def make_model(module, sheet):
    import torch
    symbols = sheet["symbols"]
    arguments = init_arguments(module, symbols, sheet["init"])
    required = [p for p in list(inspect.signature(module.ModelNew.__init__).parameters.values())[1:]
                if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if len(arguments) < len(required):
        names = ", ".join(symbols)
        raise Complaint(f"ModelNew wants {', '.join(p.name for p in required)}: say what they are, for example with "
                        f"def get_init_inputs({names}): return [...]")
    model = module.ModelNew(*arguments)
    if not isinstance(model, torch.nn.Module):
        raise Complaint("ModelNew is no torch.nn.Module")
    return model


def caller(model, sheet, inputs):
    """How the model is called: with the task's inputs, and behind them the numbers that the suite hands its own module, if
    this one takes them (a factor, which the task has inside)."""
    numbers = eval(f"[{(sheet['init'] or '').partition(';')[2]}]", {"__builtins__": {}})
    if numbers and not takes(model.forward, inputs) and takes(model.forward, [*inputs, *numbers]):
        return lambda *given: model(*given, *numbers)
    return model


def flat(name):
    return name.replace(".", "_")


def pair_weights(model, weights):
    """Which of the model's parameters is which of the task's weights, {parameter: weight}, by their names: a parameter
    a.b is the weight a_b. Where a task uses the short names of formulas, w and b, the last part of the name decides. A
    parameter beyond them is the module's own: one of KernelBench's modules has one that it never uses."""
    own = dict(model.named_parameters())
    pairs = {name: flat(name) for name in own if flat(name) in weights}
    left = [name for name in own if name not in pairs]
    missing = [name for name in weights if name not in pairs.values()]
    for weight in list(missing):
        like = [name for name in left if flat(name).startswith(weight) or
                name.rpartition(".")[2] in (weight, SHORT.get(weight))]
        if len(like) == 1:
            pairs[like[0]] = weight
            left.remove(like[0])
            missing.remove(weight)
    if missing:
        raise Complaint("weights go by their names: " + "; ".join(
            text for text in (missing and f"ModelNew has no parameter for {', '.join(missing)}",
                              left and f"the task has no weight for {', '.join(left)}") if text) +
            f" (the task's weights: {', '.join(weights) or 'none'})")
    return pairs


def set_weights(model, weights):
    """Parameters become the given tensors themselves, so that every call sees the weights of its own."""
    own = dict(model.named_parameters())
    for name, weight in pair_weights(model, weights).items():
        tensor = weights[weight]
        if own[name].shape != tensor.shape:
            raise Complaint(f"the parameter {name} has the shape {tuple(own[name].shape)}, the weight {weight} of this "
                            f"workload {tuple(tensor.shape)}: let get_init_inputs take the dimensions as parameters")
        if own[name].dtype != tensor.dtype:
            raise Complaint(f"the parameter {name} is {own[name].dtype}, the weight {weight} {tensor.dtype}")
        own[name].data = tensor


def results_of(value, expected):
    """What forward returned, as a list of tensors of the right types and shapes."""
    import torch
    results = list(value) if isinstance(value, (tuple, list)) else [value]
    if len(results) != len(expected):
        raise Complaint(f"forward returned {len(results)} values, the task has {len(expected)} outputs")
    for i, (result, out) in enumerate(zip(results, expected)):
        if not isinstance(result, torch.Tensor):
            raise Complaint(f"forward returned a {type(result).__name__}, not a tensor")
        if result.shape != out.shape or result.dtype != out.dtype:
            raise Complaint(f"forward returned {result.dtype} of shape {tuple(result.shape)}, output {i} is {out.dtype} of "
                            f"shape {tuple(out.shape)}")
    return results


# ---- extensions in C++: compiled in the build, loaded in the runner, which may not run a compiler

def patch_extensions(folder, build):
    """torch.utils.cpp_extension.load_inline and load put what they compile into the folder, or take it from there."""
    import torch.utils.cpp_extension as extension
    compile_ = extension._jit_compile

    def compiled(name, *arguments, **options):
        where = os.path.join(folder, "extensions", name)
        bound = inspect.signature(compile_).bind(name, *arguments, **options)
        os.makedirs(where, exist_ok=True)
        bound.arguments["build_directory"] = where
        return compile_(*bound.args, **bound.kwargs)

    def loaded(name, *arguments, **options):
        where = os.path.join(folder, "extensions", name)
        return extension._import_module_from_library(name, where, options.get("is_python_module", True))

    if build:
        extension._jit_compile = compiled
    else:
        extension.load = extension.load_inline = loaded


def has_extensions(source):
    return "cpp_extension" in source


# ---- memory of the judge's, as tensors

def at_device(address, size, dtype, shape):
    """A GPU's memory at this address, as a tensor."""
    import torch
    if size == 0:
        return torch.empty(shape, dtype=dtype, device="cuda")
    holder = type("Memory", (), {"__cuda_array_interface__": {
        "data": (address, False), "shape": (size,), "typestr": "|u1", "version": 3}})()
    return torch.as_tensor(holder, device="cuda").view(dtype).view(shape)


def fill_tensors(tensors, low, high):
    """Data that mean nothing: the answers are nobody's. Integers may be indices, and stay small."""
    import torch
    for tensor in tensors:
        if tensor.dtype.is_floating_point:
            tensor.uniform_(low, high)
        elif tensor.dtype == torch.bool:
            tensor.copy_(torch.rand(tensor.shape, device=tensor.device) < 0.5)
        else:
            tensor.copy_(torch.randint(0, 2, tensor.shape, device=tensor.device))


def bound(sheet, tensors):
    """The task's weights by name, and what forward gets."""
    weights = {i["name"]: t for i, t in zip(sheet["inputs"], tensors) if i["static"]}
    return weights, [t for i, t in zip(sheet["inputs"], tensors) if not i["static"]]


@contextlib.contextmanager
def empty_parameters():
    """Weights are the task's: what a layer would draw for them takes seconds on the host and is thrown away."""
    import torch
    kept = {name: function for name, function in vars(torch.nn.init).items()
            if name.endswith("_") and not name.startswith("_") and callable(function)}

    def quick(function):
        def init(tensor, *arguments, **options):
            if isinstance(tensor, torch.nn.Parameter) and tensor.numel() >= 1 << 16:
                return tensor
            return function(tensor, *arguments, **options)
        return init

    for name, function in kept.items():
        setattr(torch.nn.init, name, quick(function))
    try:
        yield
    finally:
        for name, function in kept.items():
            setattr(torch.nn.init, name, function)


# ---- serving

WARM_UPS = 3  # calls that nobody looks at: compiling, tuning, libraries' own memory


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("dims", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("rank", ctypes.c_int32), ("dtype", ctypes.c_int32)]

    def to_torch(self, device):
        import torch
        dtype = getattr(torch, DTYPES[self.dtype])
        shape = [self.dims[i] for i in range(self.rank)]
        count = 1
        for dim in shape:
            count *= dim
        size = count * torch.empty(0, dtype=dtype).element_size()
        if device == "cuda":
            return at_device(self.data, size, dtype, shape)
        if count == 0:
            return torch.empty(shape, dtype=dtype)
        memory = (ctypes.c_char * size).from_address(self.data)
        return torch.frombuffer(memory, dtype=dtype, count=count).view(shape)


class Args(ctypes.Structure):
    _fields_ = [("abi_version", ctypes.c_uint32), ("n_inputs", ctypes.c_int32), ("n_outputs", ctypes.c_int32),
                ("threads", ctypes.c_int32), ("inputs", ctypes.POINTER(Tensor)), ("outputs", ctypes.POINTER(Tensor)),
                ("parallel", ctypes.c_void_p)]


class Server:
    def __init__(self, path, names, device):
        self.path, self.names, self.device = path, names, device
        self.module = self.model = self.sheet = self.weights = self.inputs = self.outputs = None
        self.spot = None
        if device == "cuda":
            import torch
            self.spot = torch.zeros(1, device="cuda")
            torch.cuda.synchronize()

    def load(self):
        """The judge binds buffers before it, to measure what calls cost that call nothing."""
        self.module = load_source(self.path, self.names)
        if self.sheet:
            self.make()

    def bind(self, args, sheet):
        self.sheet = json.loads(sheet)
        tensors = [args.inputs[i].to_torch(self.device) for i in range(args.n_inputs)]
        self.outputs = [args.outputs[i].to_torch(self.device) for i in range(args.n_outputs)]
        self.weights, self.inputs = bound(self.sheet, tensors)
        if self.module:
            self.make()

    def make(self):
        self.model = None
        if self.device == "cuda":
            with empty_parameters():
                model = make_model(self.module, self.sheet).to("cuda")
        else:
            model = make_model(self.module, self.sheet)
        set_weights(model, self.weights)
        model = caller(model, self.sheet, self.inputs)
        if self.device == "cuda":
            self.warm_up(model)
        self.model = model

    def warm_up(self, model):
        """Compilers take longer than a call may. What the buffers hold now could be anything, indices too."""
        import torch
        inputs = [torch.empty_like(tensor) for tensor in self.inputs]
        fill_tensors(inputs, 0.01, 1)
        with torch.no_grad():
            for _ in range(WARM_UPS):
                results_of(model(*inputs), self.outputs)
        torch.cuda.synchronize()

    def call(self, nothing):
        """On a GPU the end is when the device has ended, as far as this process knows; the judge finds out for itself.
        A call for nothing has it change over to this process once, as every call does."""
        import torch
        if nothing:
            self.spot.zero_()
        else:
            with torch.no_grad():
                results = results_of(self.model(*self.inputs), self.outputs)
                for result, out in zip(results, self.outputs):
                    out.copy_(result)
        if self.device == "cuda":
            torch.cuda.synchronize()


def guarded(function, path):
    """A callback for C: 0, or 1 with the reason in the message buffer, which the last two arguments are."""
    def call(*arguments):
        *rest, message, size = arguments
        try:
            function(*rest)
            return 0
        except BaseException as error:  # SystemExit too: it is the candidate's
            text = said(error, path).encode(errors="replace")[:size - 1]
            ctypes.memmove(message, text + b"\0", len(text) + 1)
            return 1
    return call


def settle_in(path, threads, device):
    """Everything comes up while there is nothing but trusted code."""
    # The folder cannot be written and no program can be run on the CPU, which PyTorch tries when it is imported.
    tempfile.tempdir = os.environ["TMPDIR"]
    if device == "cpu":
        ctypes.util.find_library = lambda name: None
    import torch
    if device == "cuda":
        prepare()
    torch.set_num_threads(threads)
    torch.set_num_interop_threads(1)
    warm = torch.ones(1 << 16)
    (warm + warm).sum()  # the pool's threads
    torch.ones(64, 64) @ torch.ones(64, 64)
    if device == "cuda":
        torch.cuda.init()
        torch.cuda.synchronize()  # now the context is there, and current in this thread
        return  # extensions are compiled here, where the device is: their source may ask what it is
    with open(path, encoding="utf-8") as file:
        if has_extensions(file.read()):
            patch_extensions(os.path.dirname(path), False)


def serve(library, path, threads, build, device, names):
    settle_in(path, threads, device)
    worker = ctypes.CDLL(library)
    server = Server(path, names, device)
    place, size = ctypes.c_void_p, ctypes.c_size_t
    load = ctypes.CFUNCTYPE(ctypes.c_int, place, size)(guarded(server.load, path))
    bind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Args), ctypes.c_char_p, place, size)(
        guarded(lambda args, sheet: server.bind(args.contents, sheet), path))
    call = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, place, size)(guarded(server.call, path))
    return worker.assay_worker_serve(threads, build.encode(), device.encode(), load, bind, call)


# ---- lifting on a GPU

NOT_LOADED, REFUSED = 2, 4  # enum record_stage


class RecordedTensor(ctypes.Structure):
    _fields_ = [("address", ctypes.c_uint64), ("bytes", ctypes.c_uint64), ("dtype", ctypes.c_int32),
                ("rank", ctypes.c_int32), ("dims", ctypes.c_int64 * 8)]

    def to_torch(self):
        import torch
        return at_device(self.address, self.bytes, getattr(torch, DTYPES[self.dtype]), list(self.dims[:self.rank]))


def site_packages():
    import torch
    return os.path.dirname(os.path.dirname(torch.__file__))


def load_cudnn():
    """cuDNN loads the parts of itself with the first convolution."""
    for path in sorted(glob.glob(os.path.join(site_packages(), "nvidia/cudnn/lib/libcudnn_*.so.*"))):
        try:
            ctypes.CDLL(path)
        except OSError:
            pass  # it will say so itself


def find_cupti():
    """CUPTI as PyTorch has it with it; the loader's own search otherwise."""
    site = site_packages()
    found = [path for pattern in ("nvidia/*/lib/libcupti.so.*", "torch/lib/libcupti*.so*")
             for path in sorted(glob.glob(os.path.join(site, pattern)))]
    system = sorted(glob.glob("/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.*"))
    return (found + system + ["libcupti.so"])[0]


def never_search():
    """torch.backends.cudnn.benchmark stays off, whoever turns it on: the allocator has no answer to what PyTorch asks for
    it (lift/pytorch.c), or it has failed."""
    import torch
    torch._C._set_cudnn_benchmark(False)
    torch._C._set_cudnn_benchmark = lambda value: None
    kind = type(torch.backends.cudnn)
    kind.benchmark = torch.backends.ContextProp(torch._C._get_cudnn_benchmark, torch._C._set_cudnn_benchmark)


class Lift:
    def __init__(self, library, build):
        self.library = ctypes.CDLL(library)
        for name in "assay_lift_subscribe", "assay_lift_open", "assay_lift_end":
            getattr(self.library, name).restype = ctypes.c_char_p
        self.library.assay_lift_output.argtypes = [ctypes.c_uint64, ctypes.c_uint32]
        self.library.assay_lift_is_new.argtypes = [ctypes.c_uint64, ctypes.c_uint64]
        import torch
        self.must(self.library.assay_lift_subscribe(find_cupti().encode(), build.encode()))
        if not self.library.assay_lift_answer_largest_block():
            never_search()
        memory = torch.cuda.memory  # before the device is there: PyTorch changes its allocator no later
        memory.change_current_allocator(memory.CUDAPluggableAllocator(library, "assay_lift_malloc", "assay_lift_free"))
        torch.cuda.init()
        torch.cuda.synchronize()  # now the device's context is there

    def open(self, descriptors):
        """The tensors of the next workload, instead of those of the one before. Returns None, or why there is no memory
        for them."""
        why = self.library.assay_lift_open(*descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        if self.library.assay_lift_has_no_memory():
            return why.decode()
        self.must(why)
        return None

    @staticmethod
    def must(why):
        if why:
            raise RuntimeError(why.decode(errors="replace"))

    def tensors(self, log):
        counts = (ctypes.c_uint32 * 2)()
        self.library.assay_lift_counts(log, counts)
        found = []
        for i in range(counts[0] + counts[1]):
            tensor = RecordedTensor()
            self.library.assay_lift_tensor(log, i, ctypes.byref(tensor))
            found.append(tensor.to_torch())
        return found[:counts[0]], found[counts[0]:]


def record(lift, log, model, inputs, outputs):
    """One recorded call. A result that is fresh memory of its own is the output itself; others are copied."""
    import torch
    taken = set()
    lift.library.assay_lift_begin(log)
    try:
        results = results_of(model(*inputs), outputs)
        for i, (result, out) in enumerate(zip(results, outputs)):
            address, size = result.data_ptr(), result.numel() * result.element_size()
            fresh = size and result.is_contiguous() and lift.library.assay_lift_is_new(address, size)
            if fresh and address not in taken:
                taken.add(address)
                lift.library.assay_lift_output(address, i)
            else:
                out.copy_(result)
    finally:
        why = lift.library.assay_lift_end()
    torch.cuda.synchronize()
    del results
    return why


def reads_left_overs(lift, call, arguments, outputs):
    """Why there is no plan, if results depend on what earlier calls left in memory that the recordings took for workspace, or
    may do so."""
    import torch
    count = lift.library.assay_lift_left_overs(0)
    if count == 0:
        return None

    def results():
        return [t.contiguous().reshape(-1).view(torch.uint8).clone() for t in results_of(call(*arguments), outputs)]

    def same(a, b):
        return all(torch.equal(*pair) for pair in zip(a, b))

    emptied = settled = False
    try:
        before = results()
        if not same(before, results()):
            return b"its results differ from call to call, so that it cannot be seen what it reads of memory from before"
        emptied = lift.library.assay_lift_left_overs(1) > 0
        settled = same(before, results()) and emptied
    except Exception:  # memory, most often; or it does not like what it finds
        pass
    finally:
        lift.library.assay_lift_left_overs(2)
    if settled:
        lift.library.assay_lift_left_overs(3)
        return None
    if not emptied:
        return b"it cannot be seen what it reads of memory from before the call that it sets in part"
    return b"its results depend on what earlier calls left in memory"


def lift_workload(lift, module, sheet, timed):
    """Both recordings; whether there is one plan, as far as this process can tell."""
    import torch
    inputs, outputs = lift.tensors(0)
    fill_tensors(inputs, 0.01, 1)
    weights, arguments = bound(sheet, inputs)
    with torch.no_grad():
        with empty_parameters():
            model = make_model(module, sheet)
        model = model.to("cuda")
        set_weights(model, weights)
        call = caller(model, sheet, arguments)
        for i in range(WARM_UPS):
            lift.library.assay_lift_look(i == WARM_UPS - 1)
            results = results_of(call(*arguments), outputs)
            if i > 0:  # as it will be recorded, so that kernels which copy are loaded, and then looked at
                for result, out in zip(results, outputs):
                    out.copy_(result)
            del results
        lift.library.assay_lift_look(0)
        fill_tensors(arguments, 0.01, 1)  # with the same data a workspace would end as it was, and look like a constant
        torch.cuda.synchronize()
        if record(lift, 0, call, arguments, outputs):
            return False
        others, other_outputs = lift.tensors(1)
        fill_tensors(others, -2, 3)
        weights, arguments = bound(sheet, others)
        set_weights(model, weights)
        torch.cuda.synchronize()
        if record(lift, 1, call, arguments, other_outputs):
            return False
        why = reads_left_overs(lift, call, arguments, other_outputs)
        if why:
            lift.library.assay_lift_failed(REFUSED, why)
            return False
        if timed:
            torch.cuda._sleep(20000000)  # some 10 ms, so that kernels wait in line and not for the host
            lift.library.assay_lift_time(1)
            call(*arguments)
            lift.library.assay_lift_time(0)
    return True


AGAIN = "ASSAY_LIFT_AGAIN"  # number of the first sheet, and descriptors, of a program that was started again


def start_again(first, order, descriptors):
    """From the sheet at hand on, without cuDNN's search. Some of what it tries fails for good: it reads beyond a tensor
    where memory ends, and then the device is lost to this process."""
    print("with torch.backends.cudnn.benchmark on it fails; recorded again with it off", file=sys.stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    left = [order] + [fd for sheet in descriptors for fd in sheet]
    for fd in left:
        os.set_inheritable(fd, True)
    os.environ[AGAIN] = ",".join(map(str, [first, *left]))
    try:
        os.execv(sys.executable, sys.orig_argv)
    except OSError:
        traceback.print_exc()  # what had failed is told instead


def receive_order(come_up):
    """What the judge wants, when it is known: {"candidate", "defines", "sheets"}; for every sheet four descriptors,
    request and log twice; the first sheet's number, whether this is the second start, and the order's own descriptor. A
    byte alone says that the order is next, and that the device may come up meanwhile; one back says that it has."""
    import array
    import socket
    again = os.environ.pop(AGAIN, None)
    if again:
        first, *descriptors = map(int, again.split(","))
        never_search()
        return read_order(first, True, descriptors)
    with socket.socket(fileno=3) as judge:
        while True:
            said, ancillary, _, _ = judge.recvmsg(1, socket.CMSG_SPACE(65 * 4))
            if not said:
                os._exit(0)  # nobody wants anything any more
            if ancillary:
                break
            come_up()
            judge.send(said)
    descriptors = array.array("i")
    for _, _, data in ancillary:
        descriptors.frombytes(data[:len(data) - len(data) % descriptors.itemsize])
    return read_order(0, False, list(descriptors))


def read_order(first, again, descriptors):
    with open(descriptors[0], "rb", closefd=False) as file:
        file.seek(0)
        order = json.load(file)
    order["sheets"] = order["sheets"][first:]
    return order, [descriptors[1 + 4 * i:5 + 4 * i] for i in range(len(order["sheets"]))], first, again, descriptors[0]


def prepare():
    """What takes seconds and needs neither the device nor the candidate."""
    import torch
    try:
        import triton
    except Exception:
        triton = None
    return torch, triton


def lift(library, build):
    tempfile.tempdir = os.environ["TMPDIR"]
    prepare()
    load_cudnn()
    early = []
    order, descriptors, first, again, own = receive_order(lambda: early or early.append(Lift(library, build)))
    import torch
    path = order["candidate"]
    lift = early[0] if early else Lift(library, build)
    module = None
    for i, sheet in enumerate(order["sheets"]):
        spare = [os.dup(fd) for fd in descriptors[i]]
        why = lift.open(descriptors[i])
        if why:
            lift.library.assay_lift_failed(REFUSED, why.encode())
            break
        try:
            if module is None:
                module = load_source(path, order["defines"])
            if not lift_workload(lift, module, sheet, first + i == 0):
                break
        except BaseException as error:
            traceback.print_exc()
            if not again and torch.backends.cudnn.benchmark and isinstance(error, RuntimeError):
                start_again(first + i, own, [spare, *descriptors[i + 1:]])
            lift.library.assay_lift_failed(NOT_LOADED, said(error, path).encode(errors="replace"))
            break
        for fd in spare:
            os.close(fd)
        if i + 1 < len(order["sheets"]):
            gc.collect()  # models of a workload are large
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # the recordings are complete; what a module does at its exit is of no use to them


# ---- building

def versions():
    """What the candidate will run with, one line."""
    from importlib import metadata
    found = [f"Python {sys.version.split()[0]}"]
    for title, name in ("PyTorch", "torch"), ("Triton", "triton"):
        try:
            found.append(f"{title} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            pass
    return ", ".join(found)


def check(path, out, names, extensions):
    with open(path, encoding="utf-8") as file:
        source = file.read()
    try:
        compile(source, os.path.basename(path), "exec")
    except (SyntaxError, ValueError) as error:
        print(f"{os.path.basename(path)}:{getattr(error, 'lineno', 0)}: error: {error}", file=sys.stderr)
        return 1
    if extensions and has_extensions(source):
        patch_extensions(os.path.dirname(out), True)
        try:
            load_source(path, names)
        except BaseException as error:
            print(f"error: {said(error, path)}\n{error}", file=sys.stderr)
            return 1
    with open(out, "w", encoding="utf-8") as file:
        file.write(versions() + "\n")
    return 0


def facts():
    found = {"python": sys.version.split()[0], "prefixes": sorted({sys.prefix, sys.base_prefix})}
    try:
        import torch
        found["torch"] = torch.__version__
        found["cuda"] = torch.version.cuda
        found["folder"] = os.path.dirname(os.path.dirname(torch.__file__))
    except Exception as error:
        found["error"] = said(error, __file__)
    print(json.dumps(found))
    return 0


def main(arguments):
    mode, *rest = arguments or [""]
    if mode == "serve" and len(rest) >= 5:
        return serve(rest[0], rest[1], int(rest[2]), rest[3], rest[4], rest[5:])
    if mode == "lift" and len(rest) >= 2:
        return lift(rest[0], rest[1])
    if mode in ("check", "syntax") and len(rest) >= 2:
        return check(rest[0], rest[1], rest[2:], mode == "check")
    if mode == "facts":
        return facts()
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    if sys.argv[1:] == ["--version"]:
        print(f"Python {sys.version.split()[0]}")
        sys.exit(0)
    sys.exit(main(sys.argv[1:]))
