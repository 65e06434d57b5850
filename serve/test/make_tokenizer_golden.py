#!/usr/bin/env python3
"""Writes the expected values of the tokenizer's tests, by the tokenizers'
reference implementations.

  smollm2_tokens.json    token ids of varied strings for SmolLM2, by Hugging
                         Face tokenizers over the vocabulary and merges that
                         the GGUF file holds
  tokenizer_golden.json  pieces that each pre-tokenizer makes of the strings;
                         small tokenizers trained here (byte-level BPE for each
                         pre-tokenizer; SentencePiece) with their ids

usage: make_tokenizer_golden.py MODEL.gguf   (scripts/fetch_smollm2.sh prints it)
needs: pip install gguf tokenizers sentencepiece protobuf
"""

import io
import json
import pathlib
import sys

import gguf
import sentencepiece
from sentencepiece import sentencepiece_model_pb2
from tokenizers import (AddedToken, Regex, Tokenizer, models, normalizers,
                        pre_tokenizers, trainers)

# A string of each kind that tokenizers are known to disagree on.
STRINGS = [
    "",
    " ",
    "\n",
    "Hello, world!",
    " leading space",
    "   three leading spaces",
    "trailing space ",
    "trailing spaces    ",
    "two  inner   spaces    of     growing      length",
    "What is 3333+777?",
    "1234567890 12 345 6789 0.5 1e-9 0xFF ½ ² Ⅷ ٣٤",
    "Years 1999, 2024 and 12345678901234567890",
    "It's we've I'm you'll he'd they're don't IT'S WE'VE",
    "it’s a curly apostrophe — and an em dash – en dash… ellipsis",
    "def f(x):\n    return x ** 2  # square\n\n\nprint(f(3))\n",
    "\tint main(void) {\n\t\treturn 0;\n\t}\n",
    "for (int i = 0; i < n; ++i) { a[i] += b[i] * 2.5f; }",
    "SELECT * FROM t WHERE a >= 10 AND b != 'x''y';",
    '{"key": [1, 2, {"nested": null}], "s": "\\u00e9\\n"}',
    "<html><body class=\"a\">&amp;</body></html>",
    "line one\nline two\r\nline three\rline four\n\n\n  indented\n \n\t\n",
    "naïve café résumé Zürich Ångström señor",
    "nai\u0308ve cafe\u0301 decomposed",
    "Straße GROẞ İstanbul ıssız",
    "Dobrý den, příliš žluťoučký kůň",
    "Привет, как дела? Всё хорошо.",
    "Γειά σου Κόσμε",
    "שלום עולם مرحبا بالعالم",
    "नमस्ते दुनिया, สวัสดีชาวโลก",
    "你好,世界!今天天气很好。",
    "日本語のテキストと漢字かな交じり文",
    "한국어 텍스트",
    "🙂 👍🏽 👩‍👩‍👧‍👦 🇩🇪 ❤️‍🔥 emoji",
    "a🙂b c🙂 d",
    "∑∫√∞ ≠ ≤ ≥ → ← ⇒ αβγ",
    "$100 €200 £300 ¥400 100% #tag @user a&b",
    "https://example.org/path?q=a+b&c=%20d#frag user@example.org",
    "C:\\Windows\\System32 /usr/local/bin ~/.config",
    "snake_case camelCase PascalCase kebab-case SCREAMING_CASE",
    "!!!??? ... ---- ==== **** ____ ~~~~",
    "word" * 40,
    "a" * 100,
    " " * 50 + "x",
    "\n" * 20 + "x",
    "\u00a0nbsp\u2003em space\u3000ideographic\u2028line sep\u0085nel",
    "zero\u200bwidth\u200d joiners \ufeffbom \u180e vowel separator",
    "control \x00\x01\x1f\x7f characters",
    "\U0010ffff \ue000 private and last",
    "supplement: 𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𐍈 𒀀",
    "ſ long s: it'ſ 'S K (kelvin) ﬁ ligature",
    "I have 3 apples,5oranges and 12,345.67 pears",
    "x=1;y=22;z=333;w=4444",
    "“quoted” ‘single’ «guillemets» „low“",
    # Marks out of order, Hangul by its parts, singletons, exclusions.
    "a\u0323\u0302 a\u0302\u0323 q\u0307\u0323 \u1100\u1161\u11a8 \u212b \u2126 "
    "\u0958 \ufb1f \u1e9b\u0323 s\u0323\u0307 \u0344",
]
SPECIAL_STRINGS = [
    "<|im_start|>user\nWhat is 3333+777?<|im_end|>\n<|im_start|>assistant\n",
    "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained "
    "by Hugging Face<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n",
    "a<|endoftext|>b",
    " <|im_end|> spaces around <|im_end|>  ",
    "<|im_start|><|im_end|><|endoftext|>",
    "<|im_start <|im_end| > not <im_end> special",
    "<file_sep>code<jupyter_code>\n1 + 1",
    "<|im_end|>\n\n<|im_end|>",
]

GPT2 = (r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+"
        r"|\s+(?!\S)|\s+")
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|%s"
          r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")


def splitter(name):
    """The pre-tokenizer as the models' own tokenizer.json files have it, short
    of the byte alphabet."""
    split = pre_tokenizers.Split
    if name == "gpt-2":
        return [split(Regex(GPT2), "isolated")]
    if name == "smollm":
        return [pre_tokenizers.Digits(individual_digits=True),
                split(Regex(GPT2), "isolated")]
    digits = {"llama-bpe": r"\p{N}{1,3}", "qwen2": r"\p{N}"}[name]
    return [split(Regex(LLAMA3 % digits), "isolated")]


def byte_level(name):
    """With the byte alphabet. ByteLevel has GPT-2's expression built in, and
    the models that use it leave it to that."""
    inner = name in ("gpt-2", "smollm")
    steps = splitter(name)
    return pre_tokenizers.Sequence((steps[:-1] if inner else steps) + [
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=inner)])


def write(path, value):
    here = pathlib.Path(__file__).parent
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    # One value a line where it pays: diffs of golden files should be readable.
    (here / path).write_text(text.replace('},{"text"', '},\n{"text"') + "\n")


def smollm2(model):
    fields = gguf.GGUFReader(model).fields
    tokens = fields["tokenizer.ggml.tokens"].contents()
    types = fields["tokenizer.ggml.token_type"].contents()
    merges = fields["tokenizer.ggml.merges"].contents()
    tokenizer = Tokenizer(models.BPE(
        vocab={token: i for i, token in enumerate(tokens)},
        merges=[tuple(merge.split(" ")) for merge in merges]))
    tokenizer.pre_tokenizer = byte_level("smollm")
    plain = Tokenizer.from_str(tokenizer.to_str())
    tokenizer.add_special_tokens(
        [AddedToken(token, special=True, normalized=False)
         for token, kind in zip(tokens, types) if kind == 3])
    cases = [{"text": text, "special": special,
              "ids": (tokenizer if special else plain).encode(
                  text, add_special_tokens=False).ids}
             for text in STRINGS + SPECIAL_STRINGS for special in (True, False)]
    write("smollm2_tokens.json", cases)
    return len(cases)


def splits(name):
    steps = pre_tokenizers.Sequence(splitter(name))
    return [[piece for piece, _ in steps.pre_tokenize_str(text)]
            for text in STRINGS]


def small_bpe(name):
    """A vocabulary of 500 trained on the strings themselves, and words beyond
    it that merges don't produce, for ignore_merges."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = byte_level(name)
    if name == "qwen2":
        tokenizer.normalizer = normalizers.NFC()
    tokenizer.train_from_iterator(STRINGS * 2, trainers.BpeTrainer(
        vocab_size=500, show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    trained = json.loads(tokenizer.to_str())["model"]
    vocabulary = dict(trained["vocab"])
    for word in ["world", "Ġspaces", "Ġhelpful", "characters"]:
        vocabulary.setdefault(word, len(vocabulary))
    merges = [tuple(m) if isinstance(m, list) else tuple(m.split(" "))
              for m in trained["merges"]]
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges,
                                     ignore_merges=name == "llama-bpe"))
    tokenizer.pre_tokenizer = byte_level(name)
    if name == "qwen2":
        tokenizer.normalizer = normalizers.NFC()
    return {
        "tokens": sorted(vocabulary, key=vocabulary.get),
        "merges": [" ".join(merge) for merge in merges],
        "ids": [tokenizer.encode(text, add_special_tokens=False).ids
                for text in STRINGS],
    }


def sentence_piece(prefix, fallback):
    out = io.BytesIO()
    lines = [line for text in STRINGS * 3 for line in text.splitlines()
             if line and "\0" not in line]
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=out, model_type="bpe",
        vocab_size=700, byte_fallback=fallback, add_dummy_prefix=prefix,
        normalization_rule_name="identity", remove_extra_whitespaces=False,
        allow_whitespace_only_pieces=True, character_coverage=0.98,
        user_defined_symbols=["<|turn|>"], minloglevel=2,
        num_threads=1)
    model = sentencepiece_model_pb2.ModelProto.FromString(out.getvalue())
    # SentencePiece reads U+0000 as the end of a C string in places.
    texts = [text for text in STRINGS if "\0" not in text]

    def encode(proto):
        processor = sentencepiece.SentencePieceProcessor(
            model_proto=proto.SerializeToString())
        ids = [processor.encode(text) for text in texts]
        return ids, [processor.decode(row) for row in ids]

    ids, decoded = encode(model)
    result = {
        "add_space_prefix": prefix,
        "tokens": [piece.piece for piece in model.pieces],
        "scores": [piece.score for piece in model.pieces],
        "types": [piece.type for piece in model.pieces],
        "texts": texts,
        "ids": ids,
        "decoded": decoded,
    }
    # With every third normal piece made unused: merged through, never put out.
    for i, piece in enumerate(model.pieces):
        if piece.type == piece.NORMAL and i % 3 == 0:
            piece.type = piece.UNUSED
    result["unused_types"] = [piece.type for piece in model.pieces]
    result["unused_ids"], _ = encode(model)
    return result


def main():
    names = ["gpt-2", "smollm", "llama-bpe", "qwen2"]
    count = smollm2(sys.argv[1])
    write("tokenizer_golden.json", {
        "strings": STRINGS,
        "nfc": [normalizers.NFC().normalize_str(text) for text in STRINGS],
        "splits": {name: splits(name) for name in names},
        "bpe": {name: small_bpe(name) for name in names},
        "sentence_piece": [sentence_piece(True, True),
                           sentence_piece(False, True),
                           sentence_piece(True, False)],
    })
    print(f"{count} SmolLM2 cases, {len(STRINGS)} strings a tokenizer")


main()
