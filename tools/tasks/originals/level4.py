# SPDX-License-Identifier: Apache-2.0
"""The originals of level 4: models of the package transformers, made from their published configurations.

The published files load configuration and trained weights from a hub. Here the configuration is written out, with the
workload's widths, and the model is made without weights; it gets those that Assay draws. The rest of the file runs as
it is: the model in evaluation, its logits.
"""
import contextlib
import logging
import re
from unittest.mock import patch

import numpy
import torch
import transformers
from transformers.models.gpt_neo import modeling_gpt_neo

from originals import module

logging.getLogger("transformers").setLevel(logging.ERROR)  # narrow models do not have every special token

# Where transformers has no such parameter by default, the value is the published configuration's.
GPT2 = dict(n_layer=12, n_head=12)
OPT = dict(num_hidden_layers=24, num_attention_heads=32)
GPT_NEO = dict(num_layers=32, num_heads=20, attention_types=[[["global", "local"], 16]], window_size=256)
BART = dict(encoder_layers=12, decoder_layers=12, decoder_attention_heads=16)
ELECTRA = dict(num_hidden_layers=12, num_attention_heads=4)
BIGBIRD = dict(num_hidden_layers=12, num_attention_heads=12, attention_type="block_sparse", block_size=64,
               num_random_blocks=3)
REFORMER = dict(attn_layers=["local", "local", "lsh", "local"] * 3, is_decoder=True, num_attention_heads=8,
                num_hashes=4, num_buckets=512, lsh_attn_chunk_length=256, local_attn_chunk_length=128)
CONFIGURATIONS = {
    "gpt2": lambda s: transformers.GPT2Config(**GPT2, vocab_size=s["V"], n_positions=s["P"], n_embd=s["E"]),
    "facebook/opt-1.3b": lambda s: transformers.OPTConfig(
        **OPT, vocab_size=s["V"], max_position_embeddings=s["P"] - 2, hidden_size=s["E"], ffn_dim=s["F"],
        word_embed_proj_dim=s["E"]),
    "EleutherAI/gpt-neo-2.7B": lambda s: transformers.GPTNeoConfig(
        **GPT_NEO, vocab_size=s["V"], max_position_embeddings=s["P"], hidden_size=s["E"]),
    "facebook/bart-large": lambda s: transformers.BartConfig(
        **BART, vocab_size=s["V"], max_position_embeddings=s["P"] - 2, d_model=s["E"], decoder_ffn_dim=s["F"]),
    "google/electra-small-discriminator": lambda s: transformers.ElectraConfig(
        **ELECTRA, vocab_size=s["V"], max_position_embeddings=s["P"], embedding_size=s["D"], hidden_size=s["E"],
        intermediate_size=s["F"]),
    "google/bigbird-roberta-base": lambda s: transformers.BigBirdConfig(
        **BIGBIRD, vocab_size=s["V"], max_position_embeddings=s["P"] + -s["P"] % 64, hidden_size=s["E"],
        intermediate_size=s["F"]),
    "google/reformer-enwik8": lambda s: transformers.ReformerConfig(
        **REFORMER, vocab_size=s["V"], axial_pos_shape=[s["R"], s["P"]], axial_pos_embds_dim=[s["D"], s["G"]],
        max_position_embeddings=s["R"] * s["P"], hidden_size=s["E"], attention_head_size=s["E"] // 8,
        feed_forward_size=s["F"]),
}
MODELS = {"gpt2": "gpt2", "facebook/opt-1.3b": "opt", "EleutherAI/gpt-neo-2.7B": "gpt_neo", "facebook/bart-large": "bart",
          "google/electra-small-discriminator": "electra", "google/bigbird-roberta-base": "bigbird",
          "google/reformer-enwik8": "reformer"}  # in the names of the tasks' files
UNUSED = ("bert_pooler_weight", "bert_pooler_bias", "lm_head_bias")  # no logit depends on these, nor on
CROSS = "encoder_attn"  # attention to an encoder that is not there
DIGITS, REPAIRED = {}, {}
TIED = ("lm_head_weight", "generator_lm_head_weight", "cls_predictions_decoder_weight", "cls_predictions_decoder_bias")
DRAWN = 1000  # so many elements have the deviation that they are drawn with, within a tenth of it


def initial(key, prefix, layer, own):
    """Nothing at the published sizes, where there are no values: see `begins_otherwise`."""


class Wide:
    """The package torch for a module that computes in float32 whatever it gets."""

    def __init__(self, dtype):
        self.float32 = dtype

    def __getattr__(self, name):
        return getattr(torch, name)


def configured(name, sizes, change):
    """Dropouts have no effect in evaluation. Where a table has no row for a token that only stands for padding, that is
    another one."""
    config = CONFIGURATIONS[name](sizes)
    for token in ("pad_token_id", "bos_token_id", "eos_token_id", "sep_token_id", "decoder_start_token_id"):
        if isinstance(getattr(config, token, None), int):
            setattr(config, token, min(getattr(config, token), sizes["V"] - 1))
    change(config)
    return config


@contextlib.contextmanager
def around(sizes, change=lambda config: None):
    """What the file asks the hub for is made here; change(config) may alter the configuration."""
    configuration, model = transformers.AutoConfig, transformers.AutoModelForCausalLM
    saved = configuration.from_pretrained, model.from_pretrained
    configuration.from_pretrained = staticmethod(lambda name: configured(name, sizes, change))
    model.from_pretrained = staticmethod(lambda name, config: model.from_config(config).eval())
    try:
        yield
    finally:
        configuration.from_pretrained, model.from_pretrained = saved


class Logits(torch.nn.Module):
    """A model's logits: what the published files keep as `model`."""

    def __init__(self, name, config):
        super().__init__()
        self.model = transformers.AutoModelForCausalLM.from_pretrained(name, config=config)

    def forward(self, ids):
        return self.model(ids).logits


def without_file(task, sizes):
    """What a published file defines, for whoever has none. Within `around`."""
    name = next(name for name in CONFIGURATIONS if MODELS[name] in task.path.name)
    return {"Model": Logits, "get_init_inputs": lambda: [name, transformers.AutoConfig.from_pretrained(name)],
            "get_inputs": lambda: [torch.randint(0, sizes["V"], (sizes["B"], sizes["S"]))]}


def inputs_of(task, model):
    """Parameters under the names of the published model, which the file keeps as `model`. Those that are another one's
    storage have no input of their own."""
    parameters = model.named_parameters(remove_duplicate=False)
    names = {name: name.removeprefix("model.").replace(".", "_") for name, _ in parameters}
    return {name: None if own in TIED + UNUSED or CROSS in own else own for name, own in names.items()}


class Model:
    """A model in evaluation."""

    def __init__(self, model, names):
        self.model, self.names = model, names

    def run(self, task, sizes, folder, dtype):
        """On the files of a draw, whose folder gets the file of the result. Returns its shape."""
        model = self.model.to(dtype).requires_grad_(False)
        for layer in model.modules():
            if isinstance(getattr(layer, "eps", None), float):
                layer.eps = float(numpy.float32(layer.eps))  # as ONNX has it
        for name, parameter in model.named_parameters():
            own = self.names[name]
            if own:
                drawn = module.loaded(task, folder, own, sizes)
                fitted(parameter, drawn.to(dtype))
        ids = module.loaded(task, folder, "x", sizes)
        with torch.no_grad(), patch.object(modeling_gpt_neo, "torch", Wide(dtype)):
            y = model(ids)
        y.double().numpy().tofile(folder / "y")
        return list(y.shape)


def fitted(parameter, drawn):
    """BigBird's table of positions has whole blocks: rows that only padding reads are zero."""
    if parameter.shape != drawn.shape:
        if parameter.shape[1:] != drawn.shape[1:] or parameter.shape[0] - drawn.shape[0] not in range(1, 64):
            raise ValueError(f"{tuple(parameter.shape)} there, {tuple(drawn.shape)} here")
        drawn = torch.cat([drawn, drawn.new_zeros(parameter.shape[0] - drawn.shape[0], *drawn.shape[1:])])
    parameter.copy_(drawn)


def begins_otherwise(task, model, names):
    """Parameters that transformers draws otherwise than the published form says."""
    wrong = []
    for name, parameter in model.named_parameters():
        kind, *numbers = re.findall(r"[\w.]+", task.published(names[name])) if names[name] else ["unused"]
        value = parameter.double()
        if kind == "constant" and not (value == float(numbers[0])).all():
            wrong.append(name)
        if kind == "normal" and value.numel() >= DRAWN:
            deviation = float(numbers[1])
            if abs(value.std().item() / deviation - 1) > 0.1 or abs(value.mean().item()) > 0.2 * deviation:
                wrong.append(name)
    return wrong


def same(task, path):
    """What a comparison at given sizes depends on: the graph, how its inputs are drawn, and the file but for its sizes."""
    text = re.sub(r"(batch_size|sequence_length) *= *\d+", "", path.read_text()) if path else ""
    draws = sorted(item for item in task.properties.items() if item[0].startswith("assay.input."))
    return text, task.path.read_text().split("\n>\n", 1)[1], str(draws)


def original(task, path, sizes, texts):
    assert not texts
    with around(sizes):
        names = without_file(task, sizes)
        if path:
            constants = {"batch_size": sizes["B"], "sequence_length": sizes["S"]}
            names = module.executed(path.read_text(), path, constants, rounded=False)
        model = names["Model"](*names["get_init_inputs"]()).eval()
    ids = names["get_inputs"]()[0]
    if tuple(ids.shape) != task.shape("x", sizes) or ids.dtype != torch.int64:
        raise ValueError(f"ids {tuple(ids.shape)}")
    names = inputs_of(task, model)
    missing = set(task.weights()) - set(names.values())
    unknown = {own for own in names.values() if own} - set(task.weights())
    if missing or unknown:
        raise ValueError(f"parameters: {sorted(missing)[:4]} only here, {sorted(unknown)[:4]} only there")
    unique = dict(model.named_parameters())
    if any(own is None and name in unique and name.removeprefix("model.").replace(".", "_") in TIED
           for name, own in names.items()):
        raise ValueError("a parameter is not tied to another one")
    wrong = begins_otherwise(task, model, names)
    if wrong:
        raise ValueError(f"other initial values: {wrong[:4]}")
    return Model(model, names)
