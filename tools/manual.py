#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""manual.py ASSAY IMPORTER OUT: manual pages and completions for bash, zsh and fish, from what --help is made of.

Each command prints its options as JSON with --describe; so nothing stands in two places. Writes OUT/man/*.1,
OUT/bash/assay, OUT/zsh/_assay, OUT/fish/assay.fish."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile


def describe(assay, *words):
    found = json.loads(subprocess.run([assay, *words, "--describe"], check=True, capture_output=True, text=True).stdout)
    found["words"] = words
    found["parts"] = [describe(assay, *words, c["name"]) for c in found.get("commands", found.get("actions", []))]
    for part, named in zip(found["parts"], found.get("commands", found.get("actions", []))):
        part["line"] = named["text"]
    return found


# --- what options take

# Options that take a name of a list; the program says which when the name is another.
LISTS = {"color", "progress", "rule", "shapes", "device", "toolchain", "mode", "contract", "probe", "by", "format", "plot",
         "method", "form", "feedback", "api"}
BEFORE = {"make": ["kernelbench/1/19", "--endpoint", "exec:true"], "oracle": ["kernelbench/1/19", "--outputs", "/dev/null/x"],
          "trials": ["--read", os.path.abspath(__file__)]}
WITH = {"compare": ["fusedops/matmul", "--with", os.path.abspath(__file__)]}  # for an option that has a form
SAID = re.compile(r"(?:takes|is|as|draws|others:|format) ((?:[\w.-]+, )*[\w.-]+(?: or [\w.-]+)?), not '@'")


def add_values(assay, part, folder, known):
    """o["values"] of the options that take a name of a list: asked with a name that is none."""
    environment = os.environ | {"HOME": folder, "ASSAY_STORE": f"{folder}/store"}
    for o in part.get("options", []):
        key = o["name"], o["text"]
        if o["name"] in LISTS and o["argument"] and key not in known:
            words = [assay, *part["words"], *BEFORE.get(part["words"][0], []), f"--{o['name']}", "@"]
            words += WITH[part["words"][0]] if "form" in o else []
            words += ["x.svg"] if o["name"] == "plot" else []
            told = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL, env=environment,
                                  cwd=folder, timeout=60).stderr
            found = SAID.search(told)
            known[key] = re.split(", | or ", found[1]) if found else []
        o["values"] = known.get(key, [])
    for p in part["parts"]:
        add_values(assay, p, folder, known)


# --- manual pages


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = re.sub(r"`([^`]*)`", r"\\fB\1\\fR", text)
    return "\n".join("\\&" + line if line.startswith((".", "'")) else line for line in text.splitlines())


def option_head(option):
    name, argument = option["name"], option["argument"]
    if not argument:
        return f"\\fB\\-\\-{roff(name)}\\fR"
    shown = f"\\fI{roff(argument)}\\fR"
    return f"\\fB\\-\\-{roff(name)}\\fR" + (f"[={shown}]" if option["may_be_missing"] else f"={shown}")


COMMON = [
    {"name": "help", "argument": None, "may_be_missing": False, "text": "print the help and end"},
    {"name": "version", "argument": None, "may_be_missing": False, "text": "print the version and end (-V)"},
]
EXIT = """.SH EXIT STATUS
.TP
.B 0
all is well; every candidate passed
.TP
.B 1
a candidate failed
.TP
.B 2
wrong usage
.TP
.B 3
something is wrong with the machine or a file
"""


def page(part, version):
    name = "-".join(("assay",) + part["words"])
    lines = [f'.TH {name.upper()} 1 "" "assay {version}" "Assay"', ".SH NAME", f"{roff(name)} \\- {roff(part['line'])}"]
    lines += [".SH SYNOPSIS", f"\\fB{roff(' '.join(('assay',) + part['words']))}\\fR"]
    lines[-1] += (" [\\fIOPTION\\fR...]" if "options" in part else "") + " " + roff(part["arguments"])
    lines += [".SH DESCRIPTION", roff(part["text"])]
    lines += [".PP\n" + roff(paragraph) for paragraph in part.get("more", "").split("\n\n") if paragraph]
    if part["parts"]:
        lines += [".SH " + ("COMMANDS" if "commands" in part else "ACTIONS")]
        for p in part["parts"]:
            lines += [".TP", f"\\fB{roff(p['words'][-1])}\\fR", roff(p["line"])]
    if "options" in part:
        lines += [".SH OPTIONS"]
        for o in [o for o in part["options"] if "form" not in o] + COMMON[:1]:
            lines += [".TP", option_head(o), roff(o["text"])]
        form = None
        for o in [o for o in part["options"] if "form" in o]:
            if o["form"] != form:
                form = o["form"]
                lines += [f'.SS "Also, of {roff(" ".join(("assay",) + part["words"]))} {roff(form)}"']
            lines += [".TP", option_head(o), roff(o["text"])]
    also = ["assay"] + ["-".join(("assay",) + p["words"]) for p in part["parts"]] if part["words"] else [
        "-".join(("assay",) + p["words"]) for p in part["parts"]] + ["assay-import"]
    lines += [EXIT.rstrip(), ".SH SEE ALSO", ",\n".join(f"\\fB{roff(a)}\\fR(1)" for a in also)]
    return name, "\n".join(lines) + "\n"


def importer_page(importer, version):
    text = subprocess.run([sys.executable, "-B", importer, "--help"], check=True, capture_output=True, text=True,
                          env={"COLUMNS": "90", "PATH": "/usr/bin:/bin"}).stdout
    return (f'.TH ASSAY-IMPORT 1 "" "assay {version}" "Assay"\n.SH NAME\nassay\\-import \\- make a task of a PyTorch module or an '
            f"ONNX model\n.SH DESCRIPTION\n.nf\n{roff(text)}\n.fi\n.SH SEE ALSO\n\\fBassay\\fR(1)\n")


# --- completions


def leaves(part):
    """Every command with its own options, as words and options."""
    for p in part["parts"]:
        yield from leaves(p)
    if "options" in part:
        yield part["words"], part["options"] + COMMON[:1]


def names(part):
    return [p["words"][-1] for p in part["parts"]]


def groups(top):
    """Commands whose first word is one of a list: (words, names)."""
    return [(p["words"], names(p)) for p in top["parts"] if p["parts"]]


# Commands whose first argument is a task, or all of whose arguments are runs.
TAKE_TASK = ["judge", "bench", "tune", "oracle", "show", "tasks", "make", "plan save"]
TAKE_RUNS = ["score", "trials", "compare", "export", "runs"]

# Names of tasks, and of runs in the store, as the program lists them; files where none begins so.
ZSH_ARGUMENT = r"""_assay_names() {
  local -a found
  found=(${(f)"$($words[1] $1 --json 2>/dev/null | sed -n 's/^ *"'$2'": "\(.*\)",*$/\1/p')"})
  compadd -a found || _files
}"""
BASH_ARGUMENT = r"""_assay_argument() {
  local list= key= name
  case "$COMP_CWORD $command" in
  "2 judge "*|"2 bench "*|"2 tune "*|"2 oracle "*|"2 show "*|"2 tasks "*|[0-9]*" make "*|"3 plan save") list=tasks key=task ;;
  [0-9]*" score "*|[0-9]*" trials "*|[0-9]*" compare "*|[0-9]*" export "*|[0-9]*" runs "*) list=runs key=run ;;
  *) return ;;
  esac
  while IFS= read -r name; do
    case "$name" in "$word"*) COMPREPLY+=("$(printf %q "$name")") ;; esac
  done < <("${COMP_WORDS[0]}" $list --json 2>/dev/null | sed -n 's/^ *"'$key'": "\(.*\)",*$/\1/p')
}"""


def bash(top):
    out = ["# Completion of assay for bash; written by tools/manual.py.",
           '_assay_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$word"); }', BASH_ARGUMENT, "_assay() {",
           "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words=",
           '  local command="${COMP_WORDS[1]} ${COMP_WORDS[2]}"', "  COMPREPLY=()",
           "  if [ \"$COMP_CWORD\" = 1 ]; then",
           f"    words='{' '.join(names(top))} help --help --version'"]
    for words, actions in groups(top) + [(("help",), names(top))]:
        out += [f'  elif [ "$COMP_CWORD" = 2 ] && [ "${{COMP_WORDS[1]}}" = {words[0]} ]; then',
                f"    words='{' '.join(actions)}'"]
    out += ["  else", '    case "$command" in']
    for words, options in leaves(top):
        takes = "|".join("--" + o["name"] for o in options
                         if o["argument"] and not o["may_be_missing"] and not o.get("values"))
        pattern = f"'{' '.join(words)}'" if len(words) > 1 else f"'{words[0]} '*"
        out += [f"    {pattern})"]
        listed = [o for o in options if o.get("values")]
        if listed:
            out += ['      case "$before" in'] + [f"      --{o['name']}) _assay_words '{' '.join(o['values'])}'; return ;;"
                                                   for o in listed] + ["      esac"]
        if takes:
            out += [f'      case "$before" in {takes}) compopt -o default; return ;; esac']
        out += [f"      words='{' '.join('--' + o['name'] for o in options)}' ;;"]
    out += ["    esac", '    case "$word" in -*) ;; *) _assay_argument; compopt -o default; return ;; esac', "  fi",
            '  _assay_words "$words"', "}", "complete -F _assay assay", ""]
    return "\n".join(out)


def quoted(text):
    return text.replace("'", "’").replace("\n", " ")


def zsh_text(text):
    return re.sub(r"([\[\]:\\])", r"\\\1", quoted(text))


def zsh_described(parts):
    return [f"    '{p['words'][-1]}:{quoted(p['line'])}'" for p in parts]


def zsh(top):
    out = ["#compdef assay", "# Completion of assay for zsh; written by tools/manual.py.", ZSH_ARGUMENT, "_assay() {",
           "  local -a commands", "  if (( CURRENT == 2 )); then", "    commands=("]
    out += zsh_described(top["parts"]) + ["    'help:explain a command'", "    )",
                                          "    _describe command commands; return", "  fi"]
    for p in [p for p in top["parts"] if p["parts"]] + [{"words": ("help",), "parts": top["parts"]}]:
        out += [f"  if (( CURRENT == 3 )) && [[ $words[2] == {p['words'][0]} ]]; then", "    commands=("]
        out += zsh_described(p["parts"]) + ["    )", "    _describe action commands; return", "  fi"]
    out += ['  case "$words[2] $words[3]" in']
    for words, options in leaves(top):
        out += [f"  '{' '.join(words)}')" if len(words) > 1 else f"  '{words[0]} '*)", "    _arguments \\"]
        for o in options:
            values = f":{zsh_text(o['argument'])}:({' '.join(o['values'])})" if o.get("values") else ""
            more = values if values or not o["argument"] else f"{'::' if o['may_be_missing'] else ':'}{zsh_text(o['argument'])}:_files"
            equals = "=" if o["argument"] else ""
            out += [f"      '*--{o['name']}{equals}[{zsh_text(o['text'])}]{more}' \\"]
        command = " ".join(words)
        if command in TAKE_TASK:
            out += [f"      '{len(words) + 1}:task: _assay_names tasks task' \\"]
        rest = "run: _assay_names runs run" if command in TAKE_RUNS else "file:_files"
        out += [f"      '*:{rest}' ;;"]
    out += ["  esac", "}", '_assay "$@"', ""]
    return "\n".join(out)


# The words of the line up to the cursor begin so; a word anywhere else (`plan show`, `runs export`) is another command's.
FISH_FUNCTIONS = r"""function __assay_at
  set -l words (commandline -opc)
  set -l last (math 1 + (count $argv))
  test (count $words) -ge $last; and test $last = 1 -o "$words[2..$last]" = "$argv"
end
function __assay_after
  test (count (commandline -opc)) = (math 1 + (count $argv)); and __assay_at $argv
end
function __assay_names
  set -l words (commandline -opc)
  string match -q -- '-*' (commandline -ct); or not type -q $words[1]; and return
  $words[1] $argv[1] --json 2>/dev/null | sed -n 's/^ *"'$argv[2]'": "\(.*\)",*$/\1/p'
end"""


def fish(top):
    out = ["# Completion of assay for fish; written by tools/manual.py.", FISH_FUNCTIONS]
    for p in top["parts"]:
        out += [f"complete -c assay -n __assay_after -f -a {p['words'][0]} -d '{quoted(p['line'])}'"]
    out += [f"complete -c assay -n '__assay_after help' -f -a '{' '.join(names(top))}'"]
    for words, actions in groups(top):
        out += [f"complete -c assay -n '__assay_after {words[0]}' -f -a '{' '.join(actions)}'"]
    for command in TAKE_TASK:
        out += [f"complete -c assay -n '__assay_after {command}' -a '(__assay_names tasks task)'"]
    for command in TAKE_RUNS:
        out += [f"complete -c assay -n '__assay_at {command}' -a '(__assay_names runs run)'"]
    for words, options in leaves(top):
        for o in options:
            needs = f" -x -a '{' '.join(o['values'])}'" if o.get("values") else " -r" if o["argument"] and not o["may_be_missing"] else ""
            out += [f"complete -c assay -n '__assay_at {' '.join(words)}' -l {o['name']}{needs} -d '{quoted(o['text'])}'"]
    return "\n".join(out) + "\n"


def main():
    assay, importer, out = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    top = describe(assay)
    top["line"] = "judge compute kernels"
    with tempfile.TemporaryDirectory() as folder:
        add_values(os.path.abspath(assay), top, folder, {})
    for folder in "man", "bash", "zsh", "fish":
        (out / folder).mkdir(parents=True, exist_ok=True)

    def write(part):
        name, text = page(part, top["version"])
        (out / "man" / f"{name}.1").write_text(text)
        for p in part["parts"]:
            write(p)

    write(top)
    (out / "man" / "assay-import.1").write_text(importer_page(importer, top["version"]))
    (out / "bash" / "assay").write_text(bash(top))
    (out / "zsh" / "_assay").write_text(zsh(top))
    (out / "fish" / "assay.fish").write_text(fish(top))


main()
