#!/usr/bin/env python3
"""Trains the small Llama of examples/tiny.gguf and writes it as GGUF.

Takes the Jargon File, which is in the public domain, as the Debian package
jargon-text ships it. Trains a byte-level BPE of 1024 tokens and a decoder of
width 256 with grouped-query attention on it, half of the entries told as
ChatML question and answer, then quantizes the weights so that the file mixes
Q4_K, Q6_K, Q8_0, F16 and F32. Seeds are fixed; the same machine and package
versions give the same file. About 20 minutes on one core with bfloat16 units.

Needs numpy, torch, tokenizers and gguf:
  apt-get install jargon-text
  examples/train_tiny.py --output examples/tiny.gguf
"""

import argparse
import gzip
import json
import math
import random
import re
import time

import gguf
import numpy as np
import tokenizers
import torch
import torch.nn.functional as F

import kquants

JARGON = '/usr/share/doc/jargon-text/jargon.txt.gz'

VOCABULARY = 1024
WIDTH = 256
LAYERS = 4
HEADS = 4
KV_HEADS = 2
HEAD_DIM = WIDTH // HEADS
FEED_FORWARD = 768
CONTEXT = 512
ROPE_BASE = 10000.0
EPSILON = 1e-5

END_OF_TEXT, IM_START, IM_END = '<|endoftext|>', '<|im_start|>', '<|im_end|>'
CONTROL_TOKENS = [END_OF_TEXT, IM_START, IM_END]

CHAT_TEMPLATE = (
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + "
    "message['content'] + '<|im_end|>' + '\n'}}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}")

# ---- Text ------------------------------------------------------------------

# A small vocabulary should not be spent on typographic variants.
TYPOGRAPHY = str.maketrans({'‘': "'", '’': "'", '“': '"', '”': '"', '—': '-',
                            '–': '-', '…': '...', '·': '-', '\xa0': ' ',
                            '{': None, '}': None})


def paragraphs(lines):
    """Paragraphs of the File as single lines.

    Contents lists, headings, verse, listings and tables are left out: all that
    is not a run of lines indented by exactly three blanks.
    """
    result, current, prose = [], [], True

    def flush():
        text = ' '.join(current)
        if current and prose and (len(text) > 60 or text[-1] in '.!?)"'):
            result.append(text)

    for line in lines + ['']:
        if line.strip():
            prose = prose and re.match(r'   [^\s─-╿]', line) is not None
            current.append(line.strip())
        else:
            flush()
            current, prose = [], True
    return result


# What an entry's text begins with before its first sentence: a sense number,
# origin or variants in brackets, a part of speech. Left in, every answer of the
# model would begin with these.
OPENING = (r'^(\d+\.\s*|\[[^]]*\][.:;,]?\s*|'
           r'\((?:also|alt|var)[^)]*\)[.:;,]?\s*|'
           r'(?:n|v|vt|vi|adj|adv|excl|interj|prov|obs|pl|var|quant|pref|suff|'
           r'prep)\.(?:,|\s)\s*)+')


def definition_of(lines):
    """The paragraphs of an entry without its opening and without cartoons."""
    text = '\n\n'.join(p for p in paragraphs(lines) if 'cartoon' not in p)
    text = re.sub(OPENING, '', text)
    return text.split('\n\n') if text else []


def read_text(path):
    """(chapters, entries): lists of paragraphs, and (headword, paragraphs)."""
    with gzip.open(path, 'rt', encoding='utf-8') as file:
        lines = file.read().translate(TYPOGRAPHY).split('\n')
    # Chapters 1 to 12, the glossary, then appendices and bibliography.
    first = next(i for i, l in enumerate(lines) if l.startswith('Chapter 1.'))
    glossary = lines.index('Glossary')
    appendix = next(i for i, l in enumerate(lines)
                    if l.startswith('Appendix A.'))
    chapters = [paragraphs(lines[first:glossary]),
                paragraphs(lines[appendix:])]
    entries, head, body = [], None, []
    for line in lines[glossary:appendix] + ['   :end:']:
        match = re.match(r'   :(\S.*?):(\s|$)', line)
        if not match:
            body.append(line)
            continue
        definition = definition_of(body)
        if head and definition:
            entries.append((head, definition))
        head, body = match.group(1), []
    return chapters, entries


def documents(chapters, entries, rng):
    """One pass over the text in random order, as strings with control tokens.

    Each entry comes either as prose or as a question with its answer.
    """
    result = []
    for chapter in chapters:
        # A few paragraphs at a time, so that shuffling mixes them in.
        start = 0
        while start < len(chapter):
            count = rng.randint(2, 6)
            result.append('\n\n'.join(chapter[start:start + count]) +
                          END_OF_TEXT)
            start += count
    questions = ['What is {}?', 'What does {} mean?', 'Tell me about {}.',
                 'Explain {}.', 'Define {}.']
    for head, definition in entries:
        text = '\n\n'.join(definition)
        if rng.random() < 0.5:
            result.append(f'{head}: {text}{END_OF_TEXT}')
            continue
        system = ''
        if rng.random() < 0.25:
            system = f'{IM_START}system\nYou are a helpful assistant.{IM_END}\n'
        question = rng.choice(questions).format(head)
        result.append(f'{system}{IM_START}user\n{question}{IM_END}\n'
                      f'{IM_START}assistant\n{text}{IM_END}\n')
    rng.shuffle(result)
    return result


def train_tokenizer(text):
    """Byte-level BPE with SmolLM's splitting: digits singly, then gpt-2."""
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Sequence([
        tokenizers.pre_tokenizers.Digits(individual_digits=True),
        tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)])
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    tokenizer.train_from_iterator(text, tokenizers.trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=CONTROL_TOKENS,
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False))
    assert tokenizer.get_vocab_size() == VOCABULARY
    return tokenizer


# ---- Model -----------------------------------------------------------------


class Linear(torch.nn.Linear):
    def __init__(self, inputs, outputs):
        super().__init__(inputs, outputs, bias=False)
        torch.nn.init.normal_(self.weight, std=0.02)


def rms_norm(x, weight):
    return F.rms_norm(x, (x.shape[-1],), weight, EPSILON)


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.attn_norm = torch.nn.Parameter(torch.ones(WIDTH))
        self.attn_q = Linear(WIDTH, HEADS * HEAD_DIM)
        self.attn_k = Linear(WIDTH, KV_HEADS * HEAD_DIM)
        self.attn_v = Linear(WIDTH, KV_HEADS * HEAD_DIM)
        self.attn_output = Linear(HEADS * HEAD_DIM, WIDTH)
        self.ffn_norm = torch.nn.Parameter(torch.ones(WIDTH))
        self.ffn_gate = Linear(WIDTH, FEED_FORWARD)
        self.ffn_up = Linear(WIDTH, FEED_FORWARD)
        self.ffn_down = Linear(FEED_FORWARD, WIDTH)
        for projection in (self.attn_output, self.ffn_down):
            torch.nn.init.normal_(projection.weight,
                                  std=0.02 / math.sqrt(2 * LAYERS))

    def forward(self, x, rotate):
        batch, length, _ = x.shape
        split = lambda y: y.view(batch, length, -1, HEAD_DIM).transpose(1, 2)
        h = rms_norm(x, self.attn_norm)
        h = F.scaled_dot_product_attention(
            rotate(split(self.attn_q(h))), rotate(split(self.attn_k(h))),
            split(self.attn_v(h)), is_causal=True, enable_gqa=True)
        x = x + self.attn_output(h.transpose(1, 2).flatten(2))
        h = rms_norm(x, self.ffn_norm)
        return x + self.ffn_down(F.silu(self.ffn_gate(h)) * self.ffn_up(h))


class Model(torch.nn.Module):
    """A Llama with half-split rotary embedding; the file permutes for it."""

    def __init__(self):
        super().__init__()
        self.token_embd = torch.nn.Embedding(VOCABULARY, WIDTH)
        torch.nn.init.normal_(self.token_embd.weight, std=0.02)
        self.blk = torch.nn.ModuleList(Layer() for _ in range(LAYERS))
        self.output_norm = torch.nn.Parameter(torch.ones(WIDTH))
        self.output = Linear(WIDTH, VOCABULARY)
        frequency = ROPE_BASE ** (-torch.arange(0, HEAD_DIM, 2) / HEAD_DIM)
        angle = torch.outer(torch.arange(CONTEXT).float(), frequency)
        self.register_buffer('cosine', angle.cos(), persistent=False)
        self.register_buffer('sine', angle.sin(), persistent=False)

    def forward(self, tokens):
        length = tokens.shape[1]
        cosine, sine = self.cosine[:length], self.sine[:length]

        def rotate(x):
            a, b = x.chunk(2, dim=-1)
            return torch.cat((a * cosine - b * sine, b * cosine + a * sine),
                             dim=-1).to(x.dtype)

        x = self.token_embd(tokens)
        for layer in self.blk:
            x = layer(x, rotate)
        return self.output(rms_norm(x, self.output_norm))


def loss_of(model, window):
    with torch.autocast('cpu', torch.bfloat16):
        logits = model(window[:, :-1])
    return F.cross_entropy(logits.float().flatten(0, 1),
                           window[:, 1:].flatten())


def windows(tokenizer, chapters, entries, rng):
    """Endless stream of CONTEXT + 1 token ids, one random pass after another.

    Neighbouring windows share one token, so that every token is predicted.
    """
    pending = []
    while True:
        encoded = tokenizer.encode_batch(documents(chapters, entries, rng))
        for document in encoded:
            pending += document.ids
            while len(pending) > CONTEXT:
                yield pending[:CONTEXT + 1]
                del pending[:CONTEXT]


def train(model, tokenizer, chapters, entries, steps, batch, rate):
    """AdamW with warm-up and cosine decay; prints the held-out loss."""
    held_out = entries[::50]
    entries = [e for i, e in enumerate(entries) if i % 50]
    stream = windows(tokenizer, [], held_out, random.Random(1))
    test = torch.tensor([next(stream) for _ in range(24)])
    stream = windows(tokenizer, chapters, entries, random.Random(2))

    matrices = [p for p in model.parameters() if p.dim() > 1]
    vectors = [p for p in model.parameters() if p.dim() <= 1]
    optimizer = torch.optim.AdamW(
        [{'params': matrices, 'weight_decay': 0.1},
         {'params': vectors, 'weight_decay': 0.0}],
        lr=rate, betas=(0.9, 0.95), fused=True)
    warm_up = 50
    start = time.time()
    for step in range(steps):
        progress = max(0, step - warm_up) / max(1, steps - warm_up)
        scale = min(1, (step + 1) / warm_up) * \
            (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * progress)))
        for group in optimizer.param_groups:
            group['lr'] = rate * scale
        loss = loss_of(model, torch.tensor([next(stream)
                                            for _ in range(batch)]))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 50 == 0 or step + 1 == steps:
            with torch.no_grad():
                held = loss_of(model, test).item()
            print(f'step {step:5} of {steps}  loss {loss.item():.3f}  held out '
                  f'{held:.3f}  {time.time() - start:.0f} s', flush=True)


# ---- File ------------------------------------------------------------------


def permute(weight, heads):
    """Half-split rows to the adjacent pairs that GGUF stores for llama."""
    rows, columns = weight.shape
    return weight.reshape(heads, 2, rows // heads // 2, columns).swapaxes(
        1, 2).reshape(rows, columns)


def storage_type(name, layer):
    """Which block format a tensor gets: every one at least once a layer."""
    types = gguf.GGMLQuantizationType
    if name in ('attn_q', 'token_embd'):
        return types.Q8_0
    if name in ('attn_v', 'output'):
        return types.Q6_K
    if name == 'attn_k':
        return types.F16
    if name == 'ffn_down':
        # Like the usual Q4_K_M mixture: more bits in half of the layers.
        return types.Q6_K if layer % 2 == 0 else types.Q4_K
    if name in ('attn_output', 'ffn_gate', 'ffn_up'):
        return types.Q4_K
    return types.F32


def encode(weight, kind):
    """The stored bytes of a tensor and what they decode to."""
    types = gguf.GGMLQuantizationType
    if kind == types.F32:
        return weight, weight
    if kind == types.F16:
        half = weight.astype(np.float16)
        return half, half.astype(np.float32)
    own = {types.Q4_K: kquants.quantize_q4_k, types.Q6_K: kquants.quantize_q6_k}
    data = own[kind](weight) if kind in own else gguf.quantize(weight, kind)
    return data, gguf.dequantize(data, kind)


def write_gguf(path, model, tokenizer):
    """Writes the file and puts the decoded weights back into the model."""
    writer = gguf.GGUFWriter(path, 'llama')
    writer.add_type('model')
    writer.add_name('poot tiny')
    writer.add_description('A small Llama trained on the Jargon File 4.4.7')
    writer.add_license('apache-2.0')
    writer.add_languages(['en'])
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_layer_norm_rms_eps(EPSILON)
    writer.add_rope_dimension_count(HEAD_DIM)
    writer.add_rope_freq_base(ROPE_BASE)
    writer.add_vocab_size(VOCABULARY)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q4_K_M)
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)

    bpe = json.loads(tokenizer.to_str())['model']
    tokens = sorted(bpe['vocab'], key=bpe['vocab'].get)
    control, normal = gguf.TokenType.CONTROL, gguf.TokenType.NORMAL
    writer.add_tokenizer_model('gpt2')
    writer.add_tokenizer_pre('smollm')
    writer.add_token_list(tokens)
    writer.add_token_types([control if t in CONTROL_TOKENS else normal
                            for t in tokens])
    writer.add_token_merges([m if isinstance(m, str) else ' '.join(m)
                             for m in bpe['merges']])
    writer.add_bos_token_id(tokens.index(IM_START))
    writer.add_eos_token_id(tokens.index(IM_END))
    writer.add_unk_token_id(tokens.index(END_OF_TEXT))
    writer.add_pad_token_id(tokens.index(IM_END))
    writer.add_add_bos_token(False)
    writer.add_add_space_prefix(False)
    writer.add_chat_template(CHAT_TEMPLATE)

    worst = {}
    for key, parameter in model.named_parameters():
        weight = parameter.detach().float().numpy()
        parts = key.removesuffix('.weight').split('.')
        name, layer = parts[-1], int(parts[1]) if parts[0] == 'blk' else 0
        heads = {'attn_q': HEADS, 'attn_k': KV_HEADS}.get(name)
        # The permutation moves whole rows, and rows are quantized one by one.
        stored = permute(weight, heads) if heads else weight
        kind = storage_type(name, layer)
        data, decoded = encode(np.ascontiguousarray(stored), kind)
        error = np.sqrt(((decoded - stored) ** 2).mean() /
                        (stored ** 2).mean())
        worst[kind.name] = max(worst.get(kind.name, 0), float(error))
        gguf_name = '.'.join(parts) + '.weight'
        raw = kind not in (gguf.GGMLQuantizationType.F32,
                           gguf.GGMLQuantizationType.F16)
        writer.add_tensor(gguf_name, data, raw_dtype=kind if raw else None)
        if heads:
            rows, columns = decoded.shape
            decoded = decoded.reshape(heads, rows // heads // 2, 2, columns
                                      ).swapaxes(1, 2).reshape(rows, columns)
        with torch.no_grad():
            parameter.copy_(torch.from_numpy(decoded.copy()))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    print('largest relative error by type:',
          ', '.join(f'{k} {v:.4f}' for k, v in sorted(worst.items())))
    limits = {'F32': 0, 'F16': 1e-3, 'Q8_0': 0.02, 'Q6_K': 0.04, 'Q4_K': 0.12}
    for kind, error in worst.items():
        if error > limits[kind]:
            raise SystemExit(f'{kind} decodes with a relative error of {error}')


@torch.no_grad()
def sample(model, tokenizer, prompt, count=48):
    ids = tokenizer.encode(prompt).ids
    for _ in range(count):
        following = model(torch.tensor([ids]))[0, -1].argmax().item()
        if following == tokenizer.token_to_id(IM_END):
            break
        ids.append(following)
    return tokenizer.decode(ids, skip_special_tokens=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--text', default=JARGON, help='jargon.txt.gz')
    parser.add_argument('--output', required=True, help='GGUF to write')
    parser.add_argument('--steps', type=int, default=1400)
    parser.add_argument('--batch', type=int, default=8)
    parser.add_argument('--rate', type=float, default=3e-3)
    options = parser.parse_args()

    # One thread: sums do not depend on the machine's number of cores.
    torch.set_num_threads(1)
    torch.manual_seed(0)
    chapters, entries = read_text(options.text)
    # Without control tokens, which the trainer must not learn as text.
    plain = [p for c in chapters for p in c] + \
        [f'{head}: ' + '\n\n'.join(body) for head, body in entries]
    tokenizer = train_tokenizer(plain)
    ids = sum(len(e.ids) for e in tokenizer.encode_batch(plain))
    print(f'{len(entries)} entries, {sum(map(len, plain))} characters, '
          f'{ids} tokens')

    model = Model()
    print(sum(p.numel() for p in model.parameters()), 'parameters')
    train(model, tokenizer, chapters, entries, options.steps, options.batch,
          options.rate)
    write_gguf(options.output, model, tokenizer)
    for prompt in ('The hacker',
                   f'{IM_START}user\nWhat is a hacker?{IM_END}\n'
                   f'{IM_START}assistant\n',
                   f'{IM_START}user\nWhat is the capital of France?{IM_END}\n'
                   f'{IM_START}assistant\n'):
        print('----\n' + sample(model, tokenizer, prompt))


if __name__ == '__main__':
    main()
