#!/usr/bin/env python3
"""Expected logits of a llama-family GGUF by an implementation that is not poot.

Takes a GGUF and text files. Decodes the weights with the Python gguf package,
undoes the row permutation of Q and K, and runs transformers' LlamaForCausalLM
on them in float32. Writes one NAME.npz for each text:

  tokens         int32 (n)      the first --tokens ids of the text
  top_ids        int32 (n, 64)  the 64 largest logits at each position, the
  top_logits     f32   (n, 64)  largest first
  logsumexp      f32   (n)      over the whole vocabulary
  sample_ids     int32 (64)     the same vocabulary entries at each position,
  sample_logits  f32   (n, 64)  drawn with a fixed seed

Row i holds the logits after tokens[0..i] (teacher-forced). With --greedy N it
writes NAME-greedy.json instead: the prompt's ids, N greedily chosen ids (also
past an end token), their text, and by how much the best logit led at each step.

Needs numpy, torch, transformers, tokenizers and gguf; compare_logits.py, which
checks poot's result against the files, needs numpy alone.
"""

import argparse
import json
import pathlib

import gguf
import numpy as np
import tokenizers
import torch
import transformers

TOP = 64
SAMPLES = 64


class Metadata:
    def __init__(self, reader):
        self.reader = reader

    def __call__(self, key, default=None):
        field = self.reader.fields.get(key)
        if field is not None:
            return field.contents()
        if default is None:
            raise SystemExit(f'the GGUF has no key {key}')
        return default


def build_tokenizer(get):
    """The byte-level BPE of the metadata, as Hugging Face tokenizers run it."""
    kind = get('tokenizer.ggml.model'), get('tokenizer.ggml.pre')
    pre = tokenizers.pre_tokenizers
    byte_level = pre.ByteLevel(add_prefix_space=False)
    splitters = {
        ('gpt2', 'gpt-2'): byte_level,
        ('gpt2', 'smollm'): pre.Sequence(
            [pre.Digits(individual_digits=True), byte_level]),
    }
    if kind not in splitters:
        raise SystemExit(f'tokenizer {kind} is none of {list(splitters)}')
    tokens = get('tokenizer.ggml.tokens')
    types = get('tokenizer.ggml.token_type')
    vocabulary = {token: i for i, token in enumerate(tokens)}
    merges = [tuple(m.split(' ')) for m in get('tokenizer.ggml.merges')]
    result = tokenizers.Tokenizer(tokenizers.models.BPE(vocabulary, merges))
    result.pre_tokenizer = splitters[kind]
    result.decoder = tokenizers.decoders.ByteLevel()
    result.add_special_tokens([
        tokenizers.AddedToken(token, special=True, normalized=False)
        for token, type in zip(tokens, types)
        if type == gguf.TokenType.CONTROL])
    assert result.get_vocab_size() == len(tokens)
    return result


def unpermute(weight, heads):
    """Rows in adjacent pairs, as GGUF stores them for llama, to half-split."""
    rows, columns = weight.shape
    return weight.reshape(heads, rows // heads // 2, 2, columns).swapaxes(
        1, 2).reshape(rows, columns)


NAMES = {
    'token_embd': 'model.embed_tokens', 'output_norm': 'model.norm',
    'output': 'lm_head', 'attn_norm': 'input_layernorm',
    'attn_q': 'self_attn.q_proj', 'attn_k': 'self_attn.k_proj',
    'attn_v': 'self_attn.v_proj', 'attn_output': 'self_attn.o_proj',
    'ffn_norm': 'post_attention_layernorm', 'ffn_gate': 'mlp.gate_proj',
    'ffn_up': 'mlp.up_proj', 'ffn_down': 'mlp.down_proj',
}


def build_model(reader, get):
    if get('general.architecture') != 'llama':
        raise SystemExit(f'architecture {get("general.architecture")} is not '
                         'llama')
    if get('llama.rope.scaling.type', 'none') != 'none':
        raise SystemExit('rope scaling is not supported')
    heads = get('llama.attention.head_count')
    kv_heads = get('llama.attention.head_count_kv', heads)
    width = get('llama.embedding_length')
    head_dim = get('llama.attention.key_length', width // heads)
    base = get('llama.rope.freq_base', 10000.0)
    if get('llama.rope.dimension_count', head_dim) != head_dim:
        raise SystemExit('a rotary embedding of a part of the head is not '
                         'supported')

    state = {}
    for tensor in reader.tensors:
        parts = tensor.name.split('.')
        if parts[-1] != 'weight' or parts[-2] not in NAMES:
            raise SystemExit(f'unexpected tensor {tensor.name}')
        shape = [int(n) for n in reversed(tensor.shape)]
        weight = gguf.dequantize(tensor.data, tensor.tensor_type)
        weight = weight.astype(np.float32).reshape(shape)
        if parts[-2] == 'attn_q':
            weight = unpermute(weight, heads)
        elif parts[-2] == 'attn_k':
            weight = unpermute(weight, kv_heads)
        prefix = f'model.layers.{parts[1]}.' if parts[0] == 'blk' else ''
        state[f'{prefix}{NAMES[parts[-2]]}.weight'] = torch.from_numpy(
            np.array(weight))
    state.setdefault('lm_head.weight', state['model.embed_tokens.weight'])

    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=len(get('tokenizer.ggml.tokens')), hidden_size=width,
        intermediate_size=get('llama.feed_forward_length'),
        num_hidden_layers=get('llama.block_count'), num_attention_heads=heads,
        num_key_value_heads=kv_heads, head_dim=head_dim,
        max_position_embeddings=get('llama.context_length'),
        rms_norm_eps=get('llama.attention.layer_norm_rms_epsilon'),
        rope_parameters={'rope_type': 'default', 'rope_theta': base},
        tie_word_embeddings=False, attn_implementation='eager',
        dtype='float32'))
    model.load_state_dict(state, strict=True)
    # A configuration key that transformers ignored would show here.
    expected = base ** (-np.arange(0, head_dim, 2, dtype=np.float64) /
                        head_dim)
    np.testing.assert_allclose(model.model.rotary_emb.inv_freq, expected,
                               rtol=1e-6)
    return model.float().eval()


@torch.no_grad()
def write_logits(model, tokens, path):
    logits = model(torch.tensor([tokens])).logits[0].float()
    top = logits.topk(TOP)
    rng = np.random.default_rng(20240501)
    sample = np.sort(rng.choice(logits.shape[1], SAMPLES, replace=False))
    np.savez_compressed(
        path, tokens=np.array(tokens, np.int32),
        top_ids=top.indices.numpy().astype(np.int32),
        top_logits=top.values.numpy(),
        logsumexp=logits.double().logsumexp(-1).float().numpy(),
        sample_ids=sample.astype(np.int32),
        sample_logits=logits[:, torch.from_numpy(sample)].numpy())
    following = torch.tensor(tokens[1:])[:, None]
    loss = logits[:-1].log_softmax(-1).gather(1, following).mean().neg()
    print(f'{path}: {len(tokens)} tokens, mean negative log likelihood '
          f'{loss.item():.4f}')


@torch.no_grad()
def write_greedy(model, tokenizer, tokens, count, path):
    ids, margins = [], []
    for _ in range(count):
        best = model(torch.tensor([tokens + ids])).logits[0, -1].topk(2)
        ids.append(best.indices[0].item())
        margins.append(round((best.values[0] - best.values[1]).item(), 4))
    text = tokenizer.decode(ids, skip_special_tokens=False)
    record = {'prompt_ids': tokens, 'ids': ids, 'text': text,
              'margins': margins}
    # One line a key.
    lines = [f'"{key}": {json.dumps(value, ensure_ascii=False)}'
             for key, value in record.items()]
    path.write_text('{' + ',\n '.join(lines) + '}\n', encoding='utf-8')
    print(f'{path}: {text!r}, smallest margin {min(margins)}')


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('model', help='GGUF file')
    parser.add_argument('texts', nargs='+', type=pathlib.Path)
    parser.add_argument('--prefix', default='',
                        help='put before the name of each output file')
    parser.add_argument('--output', type=pathlib.Path, required=True,
                        help='folder of the output files')
    parser.add_argument('--tokens', type=int, default=200)
    parser.add_argument('--greedy', type=int, metavar='N')
    options = parser.parse_args()

    torch.set_num_threads(1)
    reader = gguf.GGUFReader(options.model)
    get = Metadata(reader)
    tokenizer = build_tokenizer(get)
    model = build_model(reader, get)
    for text in options.texts:
        ids = tokenizer.encode(text.read_text(encoding='utf-8')).ids
        name = options.prefix + text.stem
        if options.greedy:
            write_greedy(model, tokenizer, ids, options.greedy,
                         options.output / f'{name}-greedy.json')
            continue
        if len(ids) < options.tokens:
            raise SystemExit(f'{text} has only {len(ids)} tokens')
        write_logits(model, ids[:options.tokens],
                     options.output / f'{name}.npz')


if __name__ == '__main__':
    main()
