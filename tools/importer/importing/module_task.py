# SPDX-License-Identifier: Apache-2.0
"""A module file to a task: exported with as many open dimensions as agree with the original, and checked."""
import itertools
import re
import sys

import sympy
import numpy
import torch

from . import NOTES, Refused, note
from .check import difference
from .export import OPENNESS, TookLong, export
from .flashinfer import arithmetic
from .graph import Graph
from .measure import module_runner
from .sizes import Sizes, extent
from .source import Source, as_numpy, plain_name
from .substitutes import install, say_masks
from .task import FULL_CHECK_ELEMENTS, FULL_CHECK_FLOPS, Draft, Written, bindings, given_distributions, overridden
from .text import identifiers

TOLERANCE = 1e-9
SMALL_CHECK_ELEMENTS = 1 << 28
ROLES = {1: "L", 2: "BD", 3: "BLD", 4: "BCHW", 5: "BCDHW"}


def symbol_names(rows, roles, axes):
    """Names for sympy symbols and expressions, in the order of their first use: those that the source gives (axes), or by
    place in data, F1... in weights."""
    names, taken = {}, set()
    for row, role, given in zip(rows, roles, axes):
        for k, d in enumerate(row):
            if isinstance(d, int) or d in names:
                continue
            wanted = given[k] if given and given[k] else ROLES[len(row)][k] if role == "input" and len(row) in ROLES and d.is_Symbol else \
                ("F" if d.is_Symbol else "E") + "1"
            name, n = wanted, 1
            while name in taken:
                n += 1
                name = (wanted + "_" if given and given[k] else wanted.rstrip("1")) + str(n)
            taken.add(name)
            names[d] = name
    return names


def output_names(count, taken):
    """y, or y0, y1, ...; of another letter where an input is called so."""
    for base in itertools.chain(("y", "out", "result"), (f"y_{k}_" for k in itertools.count())):
        names = [base] if count == 1 else [f"{base}{k}" for k in range(count)]
        if not taken & set(names):
            return names


def said_by(run, binding):
    """Refused with what a run says that does not work."""
    try:
        run(binding)
    except Refused:
        raise
    except Exception as error:  # whatever a user's module can run into
        raise Refused(f"the module does not run once more: {type(error).__name__}: {error}") from error


class Attempt:
    """One export and what comes of it."""

    def __init__(self, options, path, source, openness):
        self.options, self.path, self.source = options, path, source
        self.exported, self.wanted = export(source, openness, options.export_limit)
        self.pinned, self.ties = set(), {}
        self.masks = len(self.wanted)
        self.roles = ["input"] * len(source.inputs) + ["mask"] * self.masks + ["state"] * len(source.state)
        self.labels = [t.name for t in source.inputs]
        self.labels += [f"keep{k + 1}" if self.masks > 1 else "keep" for k in range(self.masks)]
        self.labels += [t.name for t in source.state]
        self.labels = self.apart()
        distributions = [t.distribution for t in source.inputs]
        distributions += [f"bernoulli({p:.6g}) fixed" for _, p in self.wanted]
        self.distributions = distributions + [t.distribution for t in source.state]
        self.tie_axes()
        self.theirs = self.bindings_of(source.workloads)
        self.exported.full = dict(self.theirs.get("full", self.exported.full))

    def tie_axes(self):
        """Dimensions that the source gives one axis are one symbol, or the expression that it has for that axis."""
        first, tied = {}, {}
        for row, t in zip(self.exported.dims, self.source.inputs):
            for d, axis in zip(row, t.axes or []):
                if axis and not isinstance(d, int) and d.is_Symbol and first.setdefault(axis, d) is not d:
                    tied[d] = first[axis]
        self.tie(tied)
        known = {**self.source.constants, **first}
        for axis, text in self.source.expressions.items():
            if axis in first and all(n in known for n in re.findall(r"[A-Za-z_]\w*", text)):
                self.tie({first[axis]: sympy.simplify(arithmetic(text, known, axis))})

    def bindings_of(self, workloads):
        """The symbols' numbers of the workloads that the source brings: extents of the inputs. One that does not fit the
        exported dimensions is left out."""
        found, left = {}, []
        for name, shapes in workloads.items():
            binding = {d: n for row, shape in zip(self.exported.dims, shapes) for d, n in zip(row, shape)
                       if not isinstance(d, int) and d.is_Symbol}
            try:
                fits = set(binding) == set(self.exported.full) and all(
                    extent(d, binding) == n for row, shape in zip(self.exported.dims, shapes)
                    for d, n in zip(row, shape))
            except ValueError:
                fits = False
            if fits:
                found[name] = binding
            elif name == "full":
                raise Refused("a dimension that varies between its workloads cannot stay open")
            else:
                left.append(name)
        if left:
            note(f"{len(left)} workloads are left out: a dimension that is another in them cannot stay open")
        return found

    def apart(self):
        """The labels, each once: a weight of the same name as an input is called weight_..., others are numbered."""
        twice = {n for n in self.labels if self.labels.count(n) > 1}
        apart = [
            plain_name("weight_" + n) if n in twice and r == "state" else n for n, r in zip(self.labels, self.roles)
        ]
        for k, n in enumerate(apart):
            number = 2
            while apart[k] in apart[:k]:
                apart[k], number = f"{n}_{number}", number + 1
        return apart

    # ---- graph and sizes --------------------------------------------------------------------------------------------

    def graph(self):
        """The plain graph, with the buffers that stay constants put in and everything named."""
        g = Graph(self.exported.model)
        tensors = [t.value for t in self.source.inputs] + [None] * self.masks + [t.value for t in self.source.state]
        self.live = []
        for name, tensor, distribution in zip(list(g.inputs), tensors, self.distributions):
            if distribution is None:
                g.set_constant(name, as_numpy(tensor), g.dtype(name))
        given = list(g.inputs)
        g.inputs = [n for n in given if n not in g.constants]
        g.simplify()
        g.merge_constants()
        used = {i for n in g.nodes for i in n.inputs} | set(g.outputs)
        self.live = [k for k, n in enumerate(given) if n in used and n not in g.constants]
        for k, n in enumerate(given):
            if n not in used and self.roles[k] != "mask" and not (self.roles[k] == "state" and
                                                                  self.source.state[k - len(given)].role == "buffer"):
                note(f"{self.labels[k]} is never used; it is not an input of the task")
        fixed = dict(zip(given, self.labels))
        outputs = output_names(len(g.outputs), set(self.labels))
        taken = set(fixed.values()) | set(outputs)
        if len(set(g.outputs)) < len(g.outputs) or set(g.outputs) & set(g.inputs):
            raise Refused("an output of the module is one of its inputs, or comes twice: there is nothing to compute")
        fixed.update(zip(g.outputs, outputs))
        g.transposed_weights()
        free = identifiers(dict.fromkeys(g.readable_names().values()))
        free = {old: free[new] for old, new in g.readable_names().items()}
        for name, plain in free.items():
            while plain in taken:
                plain += "_"
            taken.add(plain)
            fixed[name] = plain
        g.inputs = [given[k] for k in self.live]
        g.rename(fixed)
        return g

    def row(self, k):
        """The extents of graph input k, numbers where a symbol is pinned."""
        fixed = {s: self.exported.full[s] for s in self.pinned}
        row = [d if isinstance(d, int) else d.subs(fixed) for d in self.exported.dims[k]]
        return [d if isinstance(d, int) or d.free_symbols else int(d) for d in row]

    def draft(self):
        return self.draft_of(None)

    def draft_of(self, bound):
        """bound: the workloads, symbol to number; None: they are to be found."""
        source, full = self.source, self.exported.full
        graph = self.graph()
        rows = [self.row(k) for k in range(len(self.roles))]
        live_rows = [rows[k] for k in self.live]
        live_roles = [self.roles[k] for k in self.live]
        axes = [t.axes for t in source.inputs] + [None] * (len(rows) - len(source.inputs))
        self.names = symbol_names(live_rows, live_roles, [axes[k] for k in self.live])
        used = {s for row in live_rows for d in row if not isinstance(d, int) for s in d.free_symbols}
        symbols = [s for s in dict.fromkeys(s for row in rows for d in row if not isinstance(d, int)
                                            for s in sorted(d.free_symbols, key=str)) if s in used]
        self.symbols = symbols
        runner = module_runner(source, self.exported.dims, self.masks)
        sizes = Sizes(symbols, {s: full[s] for s in symbols}, lambda b: runner({**full, **b}))
        self.sizes = sizes
        if sizes.cost(sizes.full) is None:
            said_by(sizes.run, sizes.full)
        if bound is None:
            small = self.given_small(sizes) or sizes.small()
            bound = {"small": small, "full": sizes.full}
            bound.update({f"ragged{k}": b for k, b in enumerate(sizes.ragged(small))})
            bound.update(self.taken(symbols))
            still = {s for s in symbols if len({b[s] for b in bound.values()}) == 1}
            if still and not self.options.small:  # what never varies is a number
                self.pinned |= still
                return self.draft_of({w: {s: n for s, n in b.items() if s not in still} for w, b in bound.items()})
            tied = self.tied(symbols, bound)
            if tied:
                self.tie(tied)
                return self.draft_of({w: {s: n for s, n in b.items() if s not in tied} for w, b in bound.items()})
        self.bound = bound
        inputs = [
            (
                self.labels[k],
                graph.dtype(self.labels[k]),
                [d if isinstance(d, int) else self.names[d] for d in rows[k]],
                self.rows_of_table(graph, k, rows),
            )
            for k in self.live
        ]
        workloads = {name: self.written(b) for name, b in self.bound.items()}
        draft = Draft(self.options, self.path, graph, overridden(given_distributions(self.options), inputs), workloads,
                      source.origin)
        source.stored = {"fp16": torch.float16, "bf16": torch.bfloat16}.get(draft.contract())
        draft.more = source.properties(self) if source.properties else []
        return draft

    def taken(self, symbols):
        """The source's own workloads next to full, as far as what is fixed by now allows."""
        full, found = self.exported.full, {}
        for name, binding in self.theirs.items():
            fits = all(binding[s] == full[s] for s in self.pinned if s in full)
            if name != "full" and fits and self.sizes.cost({s: binding[s] for s in symbols}):
                found[name] = {s: binding[s] for s in symbols}
        return found

    def tied(self, symbols, bound):
        """Symbols that are never different from an earlier one and cannot be, to that: PyTorch does not find all."""
        found, first = {}, {}
        for s in symbols:
            sizes = tuple(b[s] for b in bound.values())
            before = first.setdefault(sizes, s)
            if before is not s and len(set(sizes)) > 2 and \
                    self.sizes.cost({**bound["small"], s: bound["small"][s] + 1}) is None:
                found[s] = before
        return found

    def tie(self, tied):
        exported = self.exported
        exported.dims = [[d if isinstance(d, int) else d.subs(tied) for d in row] for row in exported.dims]
        for s in tied:
            exported.full.pop(s, None)
        self.ties.update({str(s): first for s, first in tied.items()})

    def rows_of_table(self, graph, k, rows):
        """The distribution of input k; of indices into a table whose height is open, with that symbol."""
        distribution = self.distributions[k]
        match = re.fullmatch(r"integers\(0, (\d+)\)(.*)", distribution)
        tables = {n.inputs[0] for n in graph.nodes if n.op == "Gather" and n.inputs[1] == self.labels[k]
                  and not n.attributes.get("axis", 0)}
        heights = {rows[j][0] for j in self.live if self.labels[j] in tables}
        if not match or len(heights) != 1 or (d := heights.pop()) not in self.names or \
                extent(d, self.exported.full) != int(match[1]):
            return distribution
        return f"integers(0, {self.names[d]}){match[2]}"

    def written(self, binding):
        """Symbols and expressions by their names in the file."""
        return {name: extent(d, {**self.exported.full, **binding}) for d, name in self.names.items()}

    def given_small(self, sizes):
        if not self.options.small:
            return None
        by_name = {name: d for d, name in self.names.items() if d.is_Symbol}
        given = bindings(self.options.small, "--small")
        for name in given:
            if name not in by_name:
                raise Refused(f"--small: the task has no dimension {name}; it has "
                              + (", ".join(f"{n}={sizes.full[d]}" for n, d in by_name.items()) or "none that can vary"))
        chosen = {**sizes.full, **{by_name[n]: v for n, v in given.items()}}
        if sizes.cost(chosen) is None:
            raise Refused(f"--small: the module does not take these sizes ({self.options.small})")
        return chosen

    def output_dims(self, graph):
        known = {str(d): name for d, name in self.names.items()}
        known.update({s: self.names[first] for s, first in self.ties.items() if first in self.names})
        rows = []
        for i, o in enumerate(graph.outputs):
            dims = graph.dims(o)
            if dims is None:
                raise Refused(f"the number of dimensions of output {i} is not known")
            rows.append([d if isinstance(d, int) else known.get(d, f"Y{i}_{k}") for k, d in enumerate(dims)])
        return rows

    # ---- checking ---------------------------------------------------------------------------------------------------

    def error(self, assay, path, workload):
        """Of the task's answer against the module in double precision, on the same drawn inputs."""
        drawn, ours = assay.answer(path, workload)
        binding = {**self.exported.full, **self.bound.get(workload, {})}
        by_input = dict(zip(self.live, drawn))
        tensors = []
        originals = [t.value for t in self.source.inputs] + [None] * self.masks + [t.value for t in self.source.state]
        for k, original in enumerate(originals):
            if k in by_input:
                t = torch.from_numpy(by_input[k].copy())
            elif original is None:
                t = torch.ones([extent(d, binding) for d in self.exported.dims[k]], dtype=torch.bool)
            else:
                shape = [extent(d, binding) for d in self.exported.dims[k]]
                t = original.clone() if list(original.shape) == shape else torch.ones(shape, dtype=original.dtype)
            tensors.append(t.double() if t.is_floating_point() else t)
        n = len(self.source.inputs)
        theirs = self.source.run_double(tensors[:n], tensors[n + self.masks:], tensors[n:n + self.masks])
        if len(theirs) != len(ours):
            raise Refused(f"{len(ours)} outputs, the module gives {len(theirs)}")
        theirs = [as_numpy(b) for b in theirs]
        if workload in ("small", "full"):
            empty_of_numbers(theirs)
        if workload == "small" and not self.masks:
            self.compare_classes([t if o is None else t.to(o.dtype) for t, o in zip(tensors, originals)], theirs)
        return max((difference(a, b) for a, b in zip(ours, theirs)), key=lambda e: e[0])

    def compare_classes(self, tensors, answers):
        """Notes answers that the module itself has none for in its own precision: as a candidate it would be refused."""
        n = len(self.source.inputs)
        try:
            with torch.no_grad():
                own = [as_numpy(y) for y in self.source.call(self.source.model, tensors[:n], tensors[n:])]
        except Exception:  # it has been run in double precision, and whatever this is concerns no answer
            return
        for k, (y, answer) in enumerate(zip(own, answers)):
            lost = numpy.isfinite(answer) & ~numpy.isfinite(y) if y.shape == answer.shape else numpy.zeros(1, bool)
            if lost.any():
                note(f"output {k}: {lost.sum()} of {y.size} elements are NaN or infinite in the module's own precision, and in "
                     "double precision they are not: what is drawn is no good to it; say how inputs are drawn (--input NAME=DISTRIBUTION)")

    def errors(self, assay, path, tolerance):
        """(workload, error) of each, None where it is too large to compute (theirs, which may be many, sooner than full
        and the trials of culprits at its sizes); the workloads that fail, with why."""
        good, bad = [], {}
        for workload, binding in self.bound.items():
            elements, flops = self.sizes.cost(binding)
            if workload == "small" and elements > SMALL_CHECK_ELEMENTS:
                raise Refused("nothing smaller than its full sizes can be asked, and these are too large to compute here")
            part = 1 if workload == "full" or workload.startswith("trial") else 32 if workload in self.theirs else 0
            if part and (elements > FULL_CHECK_ELEMENTS // part or flops > FULL_CHECK_FLOPS // part):
                good.append((workload, None))
                continue
            try:
                error, why = self.error(assay, path, workload)
                if error <= tolerance:
                    good.append((workload, error))
                else:
                    bad[workload] = why or f"the largest error is {error:.2g} of the largest output"
            except Exception as e:  # of assay, or whatever the module says to these sizes
                bad[workload] = str(e).split("\n")[0] or type(e).__name__
        return good, bad


def empty_of_numbers(outputs):
    """Refuses an output without a finite number: whatever writes NaN would be right."""
    for k, y in enumerate(outputs):
        if numpy.issubdtype(y.dtype, numpy.floating) and y.size and not numpy.isfinite(y).any():
            raise Refused(f"output {k} is NaN or infinite in every element on what is drawn; if other inputs have answers, "
                          "say how they are drawn: --input NAME=DISTRIBUTION")


def suspects(attempt, bad):
    """The symbols whose sizes differ from the full ones in a workload that fails: all but those that a workload that
    agrees has changed as well."""
    changed = {w: {s for s in attempt.symbols if b[s] != attempt.sizes.full[s]} for w, b in attempt.bound.items()}
    fine = set().union(*(changed[w] for w in attempt.bound if w not in bad and w != "full"), set())
    found = set().union(*(changed[w] for w in bad))
    return (found - fine) or found


def culprits(attempt, assay, bad, tolerance):
    """Of the suspects those that fail when they alone are changed; all of them when none does."""
    found = [s for s in attempt.symbols if s in suspects(attempt, bad)]
    kept = dict(attempt.bound)
    base = kept["full"] if "small" in bad else kept["small"]
    attempt.bound = {"small": base, "full": kept["full"]}
    for k, s in enumerate(found):
        sizes = [b[s] for w, b in kept.items() if w in bad and b[s] != base[s]]
        trial = {**base, s: sizes[0]} if sizes else base
        if attempt.sizes.cost(trial):
            attempt.bound[f"trial{k}"] = trial
    draft = attempt.draft_of(attempt.bound)
    with Written(draft.write(attempt.output_dims(draft.graph))) as file:
        _, failing = attempt.errors(assay, file, tolerance)
    alone = {s for k, s in enumerate(found) if f"trial{k}" in failing}
    return alone or set(found)


def try_openness(options, path, source, assay, openness):
    attempt = Attempt(options, path, source, openness)
    tolerance = TOLERANCE if options.tolerance is None else options.tolerance
    before = list(NOTES)
    while True:
        NOTES[:] = before  # what a draft that failed has assumed is of no interest
        draft = attempt.draft()
        words = draft.write(attempt.output_dims(draft.graph))
        with Written(words) as file:
            good, bad = attempt.errors(assay, file, tolerance)
            if not bad:
                source.guards.check()
                assay.show(file)
                return attempt, draft, good
        reasons = "; ".join(f"workload {w}: {why}" for w, why in bad.items()) if len(set(bad.values())) > 1 else \
            next(iter(bad.values()))
        if "full" in bad or not suspects(attempt, bad):
            raise Refused(reasons)
        pinned = culprits(attempt, assay, bad, tolerance)
        if options.verbose:
            print(f"fixing {', '.join(attempt.names.get(s, str(s)) for s in pinned)}: {reasons}", file=sys.stderr)
        attempt.pinned |= pinned


def make(options, path, assay):
    install()
    source = Source(path, options.eval)
    source.origin = f"the PyTorch module {path.name}, in {source.mode}"
    return make_of(options, path, assay, source)


def make_of(options, path, assay, source):
    """(text, report) of a source."""
    first, before, long = None, list(NOTES), ""
    for openness in OPENNESS if not options.fixed_sizes else OPENNESS[-1:]:
        try:
            attempt, draft, good = try_openness(options, path, source, assay, openness)
            break
        except Refused as e:
            first = first or e
            long = str(e) if isinstance(e, TookLong) else long
            NOTES[:] = before
            if options.verbose:
                print(f"with {openness} dimensions open: {e}", file=sys.stderr)
            if any(words in str(e) for words in ("random numbers", "another order", "has no end")):
                raise
    else:
        raise first
    if long:
        note(f"{long}, so that fewer are (--export-limit SECONDS)")
    say_masks(attempt.masks)
    words = draft.write(attempt.output_dims(draft.graph))  # with all notes
    weights = sum("static" in d for _, _, _, d in draft.inputs)
    open_ = ", ".join(attempt.names[s] for s in attempt.symbols if s in attempt.names) or "none"
    report = [
        f"{draft.name}: {len(draft.graph.nodes)} operators, {len(draft.inputs) - weights} inputs, {weights} weights, "
        f"contract {draft.contract()}, open dimensions: {open_}"
    ]
    for workload, error in good:
        sizes = ", ".join(f"{k}={v}" for k, v in draft.workloads[workload].items())
        report.append(f"{workload:8} {sizes}: " + ("too large to compute here; not compared" if error is None else
                                                  f"agrees with the module in double precision to {error:.1e}"))
    return words, report
