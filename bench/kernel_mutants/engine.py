"""Wrong variants of a kernel's source: one change each, in the text that the judge compiles.

mutants(path) lists all of them, in a fixed order. The text is split into tokens, not parsed: a change that does not
compile is no mutant, and whoever asks finds that out. Kinds of changes:

    barrier      a barrier, fence or wait left out or moved by one statement; two parallel phases in the other order
    index        a subscript or a thread's number off by one; x instead of y
    bound        < as <=, a limit off by one, a loop that begins at 1, a shorter grid
    term         a term or factor left out, a sum that is not added to, another first value
    operator     + as -, * as +, max as min, && as ||, a function left out, a sign turned round
    accumulator  a sum in bfloat16, in 11 bits, in single instead of double precision
    tile         a tile's or a block's extent doubled, halved, off by one
    stride       a loop's step or the factor of an index off by one, or doubled
    constant     a number of the formula off by 1 % or by 2^-12 of itself
"""
import hashlib
import re

KINDS = ("barrier", "index", "bound", "term", "operator", "accumulator", "tile", "stride", "constant")
TOKEN = re.compile(r"""(?P<space>\s+)|(?P<word>[A-Za-z_]\w*)|(?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)
               |(?P<op><<<|>>>|<<=|>>=|\.\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|::|.)""", re.X | re.S)
BLANK = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
LAUNCH = re.compile(r"^(// assay: )(let|scratch|launch)\b(.*)$", re.M)
# How tightly binary operators bind. Formatted source has spaces around these, and none around unary ones.
BINDS = {"*": 10, "/": 10, "%": 10, "+": 9, "-": 9, "<<": 8, ">>": 8, "<": 7, ">": 7, "<=": 7, ">=": 7, "==": 6,
         "!=": 6, "&": 5, "^": 4, "|": 3, "&&": 2, "||": 1}
OTHER = {"+": ("-",), "-": ("+",), "*": ("+", "/"), "/": ("*",), "%": ("/",), "&&": ("||",), "||": ("&&",),
         "<<": (">>",), ">>": ("<<",), "&": ("|",), "|": ("&",), "+=": ("-=", "="), "-=": ("+=",), "*=": ("/=", "+="),
         "/=": ("*=",), "^": ("|",)}
OTHER_BOUND = {"<": ("<=",), "<=": ("<",), ">": (">=",), ">=": (">",), "==": ("!=",), "!=": ("==",)}
SWAPS = {"fmaxf": "fminf", "fminf": "fmaxf", "fmax": "fmin", "fmin": "fmax", "max": "min", "min": "max"}
DROPS = {"sqrtf", "sqrt", "rsqrtf", "expf", "exp", "__expf", "exp2f", "expm1f", "logf", "log", "log1pf", "log1p",
         "tanhf", "tanh", "fabsf", "fabs", "erff", "erf", "erfcf", "floor"}
THREADS = re.compile(r"\b(threadIdx|blockIdx|blockDim|gridDim)\.([xyz])\b|\bget_(?:global|local|group)_id\(\d\)")
WAITS = re.compile(r"^[ \t]*(?:asm volatile\((?:(?!\);\n)[\s\S])*?(?:wait|fence|barrier|bar\.sync|commit|arrive)"
                   r"(?:(?!\);\n)[\s\S])*\)|(?:\w+(?:\.|::))*(?!\w*async)\w*(?:barrier|sync|wait|fence|commit|arrive)\w*"
                   r"(?:<[^;{}()]*>)?\([^;{}]*\));", re.M | re.I)
DEFINED = {"__CUDACC_RTC__": True, "__CUDACC__": True, "__CUDA_ARCH__": True}
ROUND = {  # rounds to so many bits; in every language of ours
    ".c": "static inline float mutant_round(float x, int lost) {{ unsigned u; __builtin_memcpy(&u, &x, 4); {} "
          "__builtin_memcpy(&x, &u, 4); return x; }}\n",
    ".cu": "static __device__ inline float mutant_round(float x, int lost) {{ unsigned u = __float_as_uint(x); {} "
           "return __uint_as_float(u); }}\n",
    ".cl": "float mutant_round(float x, int lost) {{ uint u = as_uint(x); {} return as_float(u); }}\n"}
HALF = "if ((u & 0x7f800000u) != 0x7f800000u) u = (u + (1u << (lost - 1))) & ~((1u << lost) - 1u);"


class Mutant:
    def __init__(self, path, kind, text, line, change):
        self.path, self.kind, self.text, self.line, self.change = path, kind, text, line, change
        self.id = hashlib.sha256((path.name + "\0" + text).encode()).hexdigest()[:12]
        self.name = f"{path.stem}.{self.id}{path.suffix}"


def is_true(condition):
    """What a preprocessor's condition says without the macros of twins; None: who knows."""
    text = re.sub(r"defined\s*\(?\s*(\w+)\s*\)?", lambda m: state(m.group(1)), condition)
    text = text.replace("&&", " and ").replace("||", " or ").replace("!", " not ")
    if not re.fullmatch(r"(?:\s|\(|\)|\d|and|or|not|True|False)*", text):
        return None
    try:
        return bool(eval(text))  # only words and numbers that the line above lets through
    except SyntaxError:
        return None


def state(name):
    if name in DEFINED:
        return str(DEFINED[name])
    return "unknown" if name.startswith("__") else "False"


def blanked(text, suffix):
    """The text with comments, literals, directives and what no compiler sees as spaces; places stay."""
    out = BLANK.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)
    lines, stack, hidden = out.split("\n"), [], False
    for i, line in enumerate(lines):
        m = re.match(r"\s*#\s*(if|ifdef|ifndef|elif|else|endif)\b(.*)", line)
        if m:
            word, rest = m.group(1), m.group(2).strip()
            if word.startswith("if"):
                said = is_true({"if": rest, "ifdef": f"defined {rest}", "ifndef": f"! defined {rest}"}[word])
                stack.append([said, said is True])
            elif word in ("elif", "else") and stack:
                said = is_true(rest) if word == "elif" else True
                stack[-1] = [False if stack[-1][1] else said, stack[-1][1] or said is True]
            elif stack:
                stack.pop()
            hidden = any(s[0] is False for s in stack)
        if hidden or re.match(r"\s*#", line) or (i and lines[i - 1].endswith("\\")):
            lines[i] = " " * len(line)
    return "\n".join(lines)


class Source:
    def __init__(self, path):
        self.path, self.text = path, path.read_text()
        self.suffix = path.suffix
        self.code = blanked(self.text, path.suffix)
        self.tokens = [(m.lastgroup, m.group(), m.start()) for m in TOKEN.finditer(self.code) if m.lastgroup != "space"]
        self.found, self.seen = [], {self.text}

    def add(self, kind, *edits):
        """edits: (from, to, text), none over another."""
        out, first = self.text, edits[-1][0]
        for begin, end, new in sorted(edits, reverse=True):
            out = out[:begin] + new + out[end:]
        if out in self.seen:
            return
        self.seen.add(out)
        line = self.text.count("\n", 0, first) + 1
        change = ", ".join(f"{self.text[b:e].strip()!r} => {new.strip()!r}" for b, e, new in edits if e or b)
        start = self.text.rfind("\n", 0, edits[-1][0]) + 1
        change = f"{self.text[start:self.text.find(chr(10), start)].strip()} | {change}"
        self.found.append(Mutant(self.path, kind, out, line, change))

    def spaced(self, at, text):
        return self.code[at - 1:at] in (" ", "\n") and self.code[at + len(text):at + len(text) + 1] in (" ", "\n")

    def right_end(self, i):
        """Where the right operand of the binary operator token i ends; -1: not found."""
        bind, depth = BINDS[self.tokens[i][1]], 0
        for j in range(i + 1, len(self.tokens)):
            text, at = self.tokens[j][1], self.tokens[j][2]
            if text in "([{":
                depth += 1
            elif text in ")]}":
                depth -= 1
                if depth < 0:
                    break
            elif depth == 0 and (text in ",;?:" or text.endswith("=") or
                                 (text in BINDS and self.spaced(at, text) and BINDS[text] <= bind)):
                break
        else:
            return -1
        last = self.tokens[j - 1]
        return last[2] + len(last[1])

    def left_begin(self, i):
        bind, depth = BINDS[self.tokens[i][1]], 0
        for j in range(i - 1, -1, -1):
            text, at = self.tokens[j][1], self.tokens[j][2]
            if text in ")]}":
                depth += 1
            elif text in "([{":
                depth -= 1
                if depth < 0:
                    break
            elif depth == 0 and (text in ",;?:" or text.endswith("=") or text == "return" or
                                 (text in BINDS and self.spaced(at, text) and BINDS[text] < bind)):
                break
        return self.tokens[j + 1][2]

    def statement(self, at):
        begin = max(self.code.rfind(c, 0, at) for c in ";{}") + 1
        return self.code[begin:at]

    def subscripts(self):
        """(begin, end) of what stands in brackets and is no declaration."""
        open_at = []
        for i, (_, text, at) in enumerate(self.tokens):
            if text == "[":
                open_at.append((i, at))
            elif text == "]" and open_at:
                i0, begin = open_at.pop()
                before = self.statement(begin)
                declares = re.match(r"\s*(?:static |const |__shared__ |__local |__align__\(\d+\) |extern |struct )*"
                                    r"(?:float\d?|double\d?|int|int64_t|uint\w*|unsigned|vec|char|bool|long|half|\w+ \w+)"
                                    r"\s[^=(]*$", before)
                if begin + 1 < at and not declares and i0 and (self.tokens[i0 - 1][0] == "word"
                                                               or self.tokens[i0 - 1][1] in ")]"):
                    yield begin + 1, at

    def accumulators(self):
        """Names of what is a float or a double and is added to."""
        names = {}
        for m in re.finditer(r"\b(float|double)\b([^;(){}=]*)", self.code):
            for name in re.findall(r"\w+", re.sub(r"\[[^\]]*\]", "", m.group(2))):
                names.setdefault(name, m.group(1))
        for m in re.finditer(r"\b(float|double) [^;]*", self.code):
            for name in re.findall(r", (\w+)(?:\[[^\]]*\])* = ", m.group()):
                names.setdefault(name, m.group(1))
        return names


def barriers(s):
    for m in WAITS.finditer(s.text):
        begin = m.start() + len(m.group()) - len(m.group().lstrip())
        if s.code[begin:begin + 3].strip() == "":
            continue
        s.add("barrier", (begin, m.end(), ";"))
        after = s.text.find("\n", m.end()) + 1
        end = s.text.find("\n", after)
        line = s.text[after:end]
        if line.strip().endswith(";") and not line.strip().startswith(("//", "#", "return")):
            s.add("barrier", (m.start(), after, ""), (end + 1, end + 1, m.group() + "\n"))
        before = s.text.rfind("\n", 0, s.text.rfind("\n", 0, m.start() + 1)) + 1
        line = s.text[before:m.start()]
        if line.strip().endswith(";") and line.count("\n") == 1 and not line.strip().startswith("//"):
            s.add("barrier", (before, before, m.group() + "\n"), (m.start(), m.end(), " "))
    phases = list(re.finditer(r"^[ \t]*args->parallel\([^;]*;\n", s.code, re.M))
    for a, b in zip(phases, phases[1:]):
        s.add("barrier", (a.start(), a.end(), s.text[b.start():b.end()]),
              (b.start(), b.end(), s.text[a.start():a.end()]))
    for m in re.finditer(r"\batomicAdd\(([^,;]*), ([^;]*)\);", s.code):
        s.add("barrier", (m.start(), m.end(), f"*({m.group(1)}) += {m.group(2)};"))


def indices(s):
    for begin, end in s.subscripts():
        e = s.text[begin:end]
        s.add("index", (begin, end, f"{e} + 1"))
        s.add("index", (begin, end, f"{e} - 1"))
    for m in THREADS.finditer(s.code):
        if m.group(2):
            s.add("index", (m.start(2), m.end(2), "y" if m.group(2) == "x" else "x"))
        s.add("index", (m.start(), m.end(), f"({m.group()} + 1)"))


def bounds(s):
    for _, text, at in s.tokens:
        if text in OTHER_BOUND and s.spaced(at, text):
            for other in OTHER_BOUND[text]:
                s.add("bound", (at, at + len(text), other))
            if text in ("<", "<="):
                s.add("bound", (at, at, "+ 1 "))
                s.add("bound", (at, at, "- 1 "))
    for m in re.finditer(r"\bfor \([^;]*?= (0)[;,]", s.code):
        s.add("bound", (m.start(1), m.end(1), "1"))
    for m in re.finditer(r"\bparallel\(args, ([^;]*?), \w+, ", s.code):
        s.add("bound", (m.start(1), m.end(1), f"({m.group(1)}) - 1"))
    for m in re.finditer(r"\bceil_div\(([^,]*), ", s.text):
        if LAUNCH.match(s.text, s.text.rfind("\n", 0, m.start()) + 1):
            s.add("bound", (m.start(1), m.end(1), m.group(1) + " - 1"))
            s.add("bound", (m.start(1), m.end(1), f"({m.group(1)}) / 2"))


def terms(s):
    for i, (_, text, at) in enumerate(s.tokens):
        if text in ("+", "-", "*", "/", "&&") and s.spaced(at, text):
            end, begin = s.right_end(i), s.left_begin(i)
            if end > 0:
                s.add("term", (at - 1, end, ""))
            if text in ("+", "*", "&&"):
                s.add("term", (begin, at + len(text) + 1, ""))
    for m in re.finditer(r"^[ \t]*(\w[\w.\->\[\] ]* (?:[-+*]=) [^;{}]*);", s.code, re.M):
        s.add("term", (m.start(1), m.end(1), ""))
    for m in re.finditer(r"\b(?:float|double) (?:[\w, =.]*, )?\w+ = (0|-INFINITY|INFINITY|0\.0f?|1)[,;]", s.code):
        s.add("term", (m.start(1), m.end(1), "1" if m.group(1).startswith("0") else "0"))


def operators(s):
    for kind, text, at in s.tokens:
        if text in OTHER and s.spaced(at, text):
            for other in OTHER[text]:
                s.add("operator", (at, at + len(text), other))
        if text == "-" and s.code[at - 1] in " (" and s.code[at + 1] not in " >=-":
            s.add("operator", (at, at + 1, ""))
        if kind == "word" and s.code[at + len(text):at + len(text) + 1] == "(":
            if text in SWAPS:
                s.add("operator", (at, at + len(text), SWAPS[text]))
            if text in DROPS:
                s.add("operator", (at, at + len(text), ""))
        if text in (">", "<") and s.spaced(at, text):
            s.add("operator", (at, at + 1, "<" if text == ">" else ">"))


def accumulators(s):
    names = s.accumulators()
    helper = ROUND[s.suffix].format(HALF)
    for m in re.finditer(r"(?<![\w.>])(\w+)((?:\[[^\]=;]*\])*) \+= ([^;{}]*)(?=;)", s.code):
        kind = names.get(m.group(1))
        if kind not in ("float", "double") or "," in re.sub(r"\([^()]*(?:\([^()]*\)[^()]*)*\)", "", m.group(3)):
            continue
        to = s.text[m.start(1):m.end(2)]
        for lost in (16, 13):
            s.add("accumulator", (0, 0, helper),
                  (m.start(), m.end(), f"{to} = mutant_round((float)({to} + ({s.text[m.start(3):m.end(3)]})), {lost})"))
    for m in re.finditer(r"(?<![\w.>])(\w+)((?:\[[^\]=;]*\])*) = (fmaf?\([^;{}]*\))(?=;)", s.code):
        if names.get(m.group(1)) in ("float", "double"):
            for lost in (16, 13):
                s.add("accumulator", (0, 0, helper),
                      (m.start(3), m.end(3), f"mutant_round((float)({s.text[m.start(3):m.end(3)]}), {lost})"))
    for m in re.finditer(r"(?<!\()\bdouble\b(?=[ &*(]*\w+(?: =|;|,|\[| \{|\)))", s.code):
        s.add("accumulator", (m.start(), m.end(), "float"))


def sizes(n):
    return [v for v in (2 * n, n // 2, n + 1, n - 1) if v > 0 and v != n]


def tiles(s):
    for e in re.finditer(r"\benum \{([^}]*)\}", s.code):
        for m in re.finditer(r"(?<== )\d+(?=[ ,}]|$)", e.group(1)):
            for v in sizes(int(m.group())):
                s.add("tile", (e.start(1) + m.start(), e.start(1) + m.end(), str(v)))
    for kind, text, at in s.tokens:
        if kind == "number" and text.isdigit() and int(text) >= 4 and int(text) & (int(text) - 1) == 0:
            for v in sizes(int(text))[:3]:
                s.add("tile", (at, at + len(text), str(v)))
    for l in LAUNCH.finditer(s.text):
        for m in re.finditer(r"(?<=[=, (<*])\d+(?=[ ,)>\]]|$)", l.group(3)):
            if int(m.group()) >= 4:
                for v in sizes(int(m.group())):
                    s.add("tile", (l.start(3) + m.start(), l.start(3) + m.end(), str(v)))


def strides(s):
    for m in re.finditer(r"\bfor \(([^;{}]*);([^;{}]*);([^{}\n]*?)\)(?=\s*(?:\{|\n|[a-zA-Z]))", s.code):
        for step in re.finditer(r"\w+(\+\+)|\w+ (?:\+=|-=) (\w[^,;)]*)|\w+ (?:[*/]=|>>=|<<=) (\d+)", m.group(3)):
            at = m.start(3)
            if step.group(1):
                s.add("stride", (at + step.start(1), at + step.end(1), " += 2"))
            elif step.group(2):
                s.add("stride", (at + step.end(2), at + step.end(2), " + 1"))
                s.add("stride", (at + step.start(2), at + step.end(2), f"2 * ({step.group(2)})"))
            else:
                s.add("stride", (at + step.start(3), at + step.end(3), str(2 * int(step.group(3)))))
    inside = list(s.subscripts())
    for m in re.finditer(r" \* ([A-Za-z_]\w*)(?![\w(\[.]|->)", s.code):
        held = any(b <= m.start() < e for b, e in inside)
        if held or re.search(r"\*\s*(?:__restrict__ )?\w+ = [^=]*$|(?:int|int64_t|long|ulong|size_t) \w+ = [^=]*$|"
                             r"^\s*\w+ \+= [^=]*$", s.statement(m.start())):
            s.add("stride", (m.start(1), m.end(1), f"({m.group(1)} + 1)"))
            s.add("stride", (m.start(1), m.end(1), f"({m.group(1)} - 1)"))


def constants(s):
    for kind, text, at in s.tokens:
        if kind == "number" and re.search(r"[.eE]", text) and not text.startswith("0x"):
            bare = text.rstrip("fF")
            try:
                value = float(bare)
            except ValueError:
                continue
            for factor in (1.01, 1 + 2.0 ** -12):
                s.add("constant", (at, at + len(text), repr(value * factor) + text[len(bare):]))


def mutants(path):
    s = Source(path)
    for make in (barriers, indices, bounds, terms, operators, accumulators, tiles, strides, constants):
        make(s)
    return s.found
