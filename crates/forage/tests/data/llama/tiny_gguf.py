#!/usr/bin/env python3
"""Writes a language model of half a megabyte with random weights, for tests against a real inference server.

Its output is meaningless, but it is well-formed on a server that constrains output with a grammar. The random generator has
a fixed seed, so every run writes the same file. Requires the packages gguf 0.19 and numpy.
"""

import argparse

import gguf
import numpy as np

WIDTH, HEADS, LAYERS, INNER, CONTEXT = 64, 4, 2, 128, 65_536

TEMPLATE = """\
{%- if messages[0].role == 'system' or tools %}<|im_start|>system
{%- if messages[0].role == 'system' %}
{{ messages[0].content }}
{%- endif %}
{%- if tools %}
# Tools
{%- for tool in tools %}
{{ tool | tojson }}
{%- endfor %}
{%- endif %}<|im_end|>
{% endif %}
{%- for message in messages %}
{%- if message.role == 'user' or (message.role == 'system' and not loop.first) %}<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% elif message.role == 'assistant' %}<|im_start|>assistant
{{ message.content or '' }}
{%- for call in (message.tool_calls or []) %}
<tool_call>{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}</tool_call>
{%- endfor %}<|im_end|>
{% elif message.role == 'tool' %}<|im_start|>user
<tool_response>
{{ message.content }}
</tool_response><|im_end|>
{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""


def vocabulary():
    """Yields tokens with their scores and kinds: every byte, so that all text can be encoded, and the printable characters."""
    kind = gguf.TokenType
    yield "<unk>", 0.0, kind.UNKNOWN
    yield "<s>", 0.0, kind.CONTROL
    yield "</s>", 0.0, kind.CONTROL
    for byte in range(256):
        yield f"<0x{byte:02X}>", 0.0, kind.BYTE
    for name in ("<|im_start|>", "<|im_end|>"):
        yield name, 0.0, kind.CONTROL
    for name in ("<tool_call>", "</tool_call>"):
        yield name, 0.0, kind.USER_DEFINED
    for rank, character in enumerate(["\u2581", *map(chr, range(33, 127))]):
        yield character, -float(rank), kind.NORMAL


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("file")
    file = parser.parse_args().file
    tokens, scores, kinds = zip(*vocabulary())
    writer = gguf.GGUFWriter(file, "llama")
    writer.add_name("tiny-random")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_vocab_size(len(tokens))
    writer.add_file_type(0)
    writer.add_tokenizer_model("llama")
    writer.add_token_list([token.encode() for token in tokens])
    writer.add_token_scores(scores)
    writer.add_token_types(kinds)
    writer.add_unk_token_id(tokens.index("<unk>"))
    writer.add_bos_token_id(tokens.index("<s>"))
    writer.add_eos_token_id(tokens.index("<|im_end|>"))
    writer.add_add_bos_token(True)
    writer.add_add_space_prefix(False)
    writer.add_chat_template(TEMPLATE)

    random = np.random.default_rng(7)
    weights = lambda *shape: (random.standard_normal(shape) * 0.08).astype(np.float32)
    ones = np.ones(WIDTH, np.float32)
    writer.add_tensor("token_embd.weight", weights(len(tokens), WIDTH))
    for layer in range(LAYERS):
        writer.add_tensor(f"blk.{layer}.attn_norm.weight", ones)
        for part in "qkv":
            writer.add_tensor(f"blk.{layer}.attn_{part}.weight", weights(WIDTH, WIDTH))
        writer.add_tensor(f"blk.{layer}.attn_output.weight", weights(WIDTH, WIDTH))
        writer.add_tensor(f"blk.{layer}.ffn_norm.weight", ones)
        writer.add_tensor(f"blk.{layer}.ffn_gate.weight", weights(INNER, WIDTH))
        writer.add_tensor(f"blk.{layer}.ffn_up.weight", weights(INNER, WIDTH))
        writer.add_tensor(f"blk.{layer}.ffn_down.weight", weights(WIDTH, INNER))
    writer.add_tensor("output_norm.weight", ones)
    writer.add_tensor("output.weight", weights(len(tokens), WIDTH))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
