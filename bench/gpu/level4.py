#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Candidates for KernelBench's level 4 that are the models of the package transformers themselves.

    bench/gpu/level4.py FOLDER                   a file for each of the twenty: kernelbench_4_11.py, ...
    assay bench kernelbench/4 --from FOLDER --workload full --device cuda --no-probes --checks 1

A model is made of its published configuration (tools/tasks/originals/level4.py), in evaluation, without trained weights,
and computes with those that the judge draws. So a verdict at `full` on a GPU is a comparison of the task with
transformers at the published size. The Python that judges needs transformers. BigBird's table of positions has whole
blocks of 64 there, so that its model fits at `full` alone.
"""
import pathlib
import re
import sys

HOUSE = pathlib.Path(__file__).resolve().parents[2]
ORIGINALS = HOUSE / "tools" / "tasks" / "originals" / "level4.py"
CANDIDATE = '''# assay: task kernelbench/4/{number}
import torch
import transformers

{settings}

class ModelNew(torch.nn.Module):
    """Parts have the names that the task's weights have; what no logit depends on is no parameter."""

    def __init__(self, sizes):
        super().__init__()
        config = CONFIGURATIONS["{name}"](sizes)
        for token in ("pad_token_id", "bos_token_id", "eos_token_id", "sep_token_id", "decoder_start_token_id"):
            if isinstance(getattr(config, token, None), int):
                setattr(config, token, min(getattr(config, token), sizes["V"] - 1))
        model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="{attention}").eval()
        parameters = {{name.removeprefix("model.").replace(".", "_"): (name, parameter)
                      for name, parameter in model.named_parameters(remove_duplicate=False)}}
        for own, (name, parameter) in parameters.items():
            if own == "lm_head_bias" and "lm_head_decoder_bias" not in parameters:
                model.lm_head.decoder.bias = parameter  # Reformer's, which some versions make and do not use
            if own in UNUSED or CROSS in own:
                place, _, last = name.rpartition(".")
                place = model.get_submodule(place)
                del place._parameters[last]
                place.register_buffer(last, parameter.detach())
        for name, part in model.named_children():
            self.add_module(name, part)
        self.whole = [model]  # in a list: its parameters have names already

    def forward(self, ids):
        return self.whole[0](ids).logits


def get_init_inputs({dimensions}):
    return [dict({pairs})]
'''


def candidate(path, settings, models):
    text = path.read_text()
    name = next(name for name, short in models.items() if f"_{short}_" in path.name)
    full = re.search(r'"assay.workload.full" : "([^"]*)"', text)[1]
    dimensions = re.findall(r"(\w+)=", full)
    attention = "eager" if any(part in name for part in ("reformer", "bigbird", "neo")) else "sdpa"
    return CANDIDATE.format(number=int(path.name[:3]), settings=settings, name=name, attention=attention,
                            dimensions=", ".join(dimensions), pairs=", ".join(f"{d}={d}" for d in dimensions))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder, text = pathlib.Path(sys.argv[1]), ORIGINALS.read_text()
    folder.mkdir(parents=True, exist_ok=True)
    settings = text[text.index("GPT2 = "):text.index("MODELS = ")]
    settings += "".join(re.search(rf"^{name} = .*\n", text, re.M)[0] for name in ("UNUSED", "CROSS"))
    names = {}
    exec(text[text.index("MODELS = "):text.index("UNUSED = ")], names)
    for path in sorted((HOUSE / "tasks" / "kernelbench" / "level4").glob("*.onnxtxt")):
        (folder / f"kernelbench_4_{int(path.name[:3])}.py").write_text(candidate(path, settings, names["MODELS"]))


if __name__ == "__main__":
    main()
