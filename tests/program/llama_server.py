#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""llama.cpp's server with a model made on the spot, for tests: llama_server.py FOLDER writes its port to FOLDER/port.

The model is a llama of two layers whose weights are random and whose output layer is zero: every token is equally
likely. What it says is decided by the grammar of a request alone, and where that leaves a choice, by the request's seed.
llama_server.py FOLDER MODEL.gguf serves that model instead."""
import pathlib
import socket
import sys
import time

import gguf
import numpy
import xllamacpp

WIDTH, HEADS, LAYERS, FEED, CONTEXT = 64, 4, 2, 128, 32768
TEMPLATE = "{% for m in messages %}{{ m['content'] }}\n{% endfor %}"


def write_model(path):
    """Vocabulary as SentencePiece has it: three special tokens, all bytes, the printable characters."""
    normal = [chr(c) for c in range(32, 127)]
    tokens = ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)] + ["\u2581" if c == " " else c for c in normal]
    kinds = [gguf.TokenType.UNKNOWN, gguf.TokenType.CONTROL, gguf.TokenType.CONTROL]
    kinds += [gguf.TokenType.BYTE] * 256 + [gguf.TokenType.NORMAL] * len(normal)
    out = gguf.GGUFWriter(str(path), "llama")
    out.add_context_length(CONTEXT)
    out.add_embedding_length(WIDTH)
    out.add_block_count(LAYERS)
    out.add_feed_forward_length(FEED)
    out.add_head_count(HEADS)
    out.add_head_count_kv(HEADS)
    out.add_layer_norm_rms_eps(1e-5)
    out.add_rope_dimension_count(WIDTH // HEADS)
    out.add_vocab_size(len(tokens))
    out.add_tokenizer_model("llama")
    out.add_token_list(tokens)
    out.add_token_scores([0.0] * len(tokens))
    out.add_token_types(kinds)
    out.add_bos_token_id(1)
    out.add_eos_token_id(2)
    out.add_unk_token_id(0)
    out.add_add_space_prefix(False)
    out.add_chat_template(TEMPLATE)
    draw = numpy.random.default_rng(1)

    def matrix(name, rows, columns):
        out.add_tensor(name, (0.02 * draw.standard_normal((rows, columns))).astype(numpy.float32))

    def ones(name):
        out.add_tensor(name, numpy.ones(WIDTH, dtype=numpy.float32))

    matrix("token_embd.weight", len(tokens), WIDTH)
    for i in range(LAYERS):
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            matrix(f"blk.{i}.{name}.weight", WIDTH, WIDTH)
        matrix(f"blk.{i}.ffn_gate.weight", FEED, WIDTH)
        matrix(f"blk.{i}.ffn_up.weight", FEED, WIDTH)
        matrix(f"blk.{i}.ffn_down.weight", WIDTH, FEED)
        ones(f"blk.{i}.attn_norm.weight")
        ones(f"blk.{i}.ffn_norm.weight")
    ones("output_norm.weight")
    out.add_tensor("output.weight", numpy.zeros((len(tokens), WIDTH), dtype=numpy.float32))
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


def main():
    folder = pathlib.Path(sys.argv[1])
    model = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else folder / "random.gguf"
    if len(sys.argv) <= 2:
        write_model(model)
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    p = xllamacpp.CommonParams()
    p.model.path = str(model)
    p.n_ctx = CONTEXT if len(sys.argv) <= 2 else 8192  # what the model was made for
    p.n_parallel = 1
    p.hostnames = ["127.0.0.1"]
    p.port = port
    p.warmup = False
    server = xllamacpp.Server(p)
    (folder / "port.new").write_text(str(port))
    (folder / "port.new").rename(folder / "port")
    while server:
        time.sleep(60)


main()
