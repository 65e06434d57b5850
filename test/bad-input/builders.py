"""Small writers of the file formats that poot reads, for files that break
their rules. Each makes a valid file unless it is told otherwise."""

import ctypes
import json
import os
import struct
import subprocess
import tempfile

# ----------------------------------------------------------------------------
# GGUF
# ----------------------------------------------------------------------------

# Numbers of the format, and how a scalar of each is packed.
GGUF_TYPES = {
    "u8": (0, "<B"), "i8": (1, "<b"), "u16": (2, "<H"), "i16": (3, "<h"),
    "u32": (4, "<I"), "i32": (5, "<i"), "f32": (6, "<f"), "bool": (7, "<B"),
    "string": (8, None), "array": (9, None), "u64": (10, "<Q"),
    "i64": (11, "<q"), "f64": (12, "<d"),
}  # fmt: skip
F32, F16, Q4_0 = 0, 1, 2
TYPE_SIZE = {F32: (1, 4), F16: (1, 2), Q4_0: (32, 18)}


def gguf_string(text):
    data = text if isinstance(text, bytes) else text.encode()
    return struct.pack("<Q", len(data)) + data


def gguf_value(kind, value):
    """KIND is a scalar's name, or that of an array's elements in brackets."""
    if kind.startswith("["):
        element = kind[1:-1]
        number = GGUF_TYPES[element][0]
        data = b"".join(
            gguf_string(v) if element == "string"
            else struct.pack(GGUF_TYPES[element][1], v)
            for v in value
        )  # fmt: skip
        return struct.pack("<IIQ", 9, number, len(value)) + data
    number, form = GGUF_TYPES[kind]
    data = gguf_string(value) if kind == "string" else struct.pack(form, value)
    return struct.pack("<I", number) + data


def gguf_entry(key, kind, value):
    return gguf_string(key) + gguf_value(kind, value)


def gguf_tensor(name, dims, kind, offset):
    return (
        gguf_string(name)
        + struct.pack("<I", len(dims))
        + b"".join(struct.pack("<Q", d & (2**64 - 1)) for d in dims)
        + struct.pack("<IQ", kind, offset)
    )


def gguf_file(entries=(), tensors=(), data=b"", version=3, counts=None, magic=b"GGUF"):
    """ENTRIES and TENSORS are records in bytes; COUNTS overrides theirs."""
    tensor_count, entry_count = counts or (len(tensors), len(entries))
    head = magic + struct.pack("<IQQ", version, tensor_count, entry_count)
    head += b"".join(entries) + b"".join(tensors)
    return head + bytes(-len(head) % 32) + data


def gguf(metadata, tensors):
    """METADATA: key to (kind, value). TENSORS: name to (extents, outermost
    first, type). All elements are zero."""
    records, offset = [], 0
    for name, (shape, kind) in tensors.items():
        records.append(gguf_tensor(name, shape[::-1], kind, offset))
        count = 1
        for extent in shape:
            count *= extent
        elements, size = TYPE_SIZE[kind]
        offset += -(-count // elements * size // 32) * 32
    entries = [gguf_entry(k, *v) for k, v in metadata.items()]
    return gguf_file(entries, records, bytes(offset))


def byte_tokens():
    """The 256 tokens of bytes, as byte-level BPE spells them."""
    plain = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = iter(range(256, 512))
    return [chr(b if b in plain else next(others)) for b in range(256)]


def llama_metadata():
    """Of a Llama of one layer that can be compiled and run."""
    tokens = byte_tokens() + ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "ab"]
    return {
        "general.architecture": ("string", "llama"),
        "general.name": ("string", "small"),
        "llama.context_length": ("u32", 64),
        "llama.embedding_length": ("u32", 64),
        "llama.block_count": ("u32", 1),
        "llama.feed_forward_length": ("u32", 64),
        "llama.attention.head_count": ("u32", 2),
        "llama.attention.head_count_kv": ("u32", 1),
        "llama.attention.layer_norm_rms_epsilon": ("f32", 1e-5),
        "llama.rope.dimension_count": ("u32", 32),
        "llama.rope.freq_base": ("f32", 10000.0),
        "llama.vocab_size": ("u32", len(tokens)),
        "tokenizer.ggml.model": ("string", "gpt2"),
        "tokenizer.ggml.pre": ("string", "smollm"),
        "tokenizer.ggml.tokens": ("[string]", tokens),
        "tokenizer.ggml.token_type": ("[i32]", [1] * 256 + [3, 3, 3, 1]),
        "tokenizer.ggml.merges": ("[string]", ["a b"]),
        "tokenizer.ggml.bos_token_id": ("u32", 257),
        "tokenizer.ggml.eos_token_id": ("u32", 258),
        "tokenizer.chat_template": (
            "string",
            "{% for m in messages %}<|im_start|>{{m.role}}\n{{m.content}}"
            "<|im_end|>\n{% endfor %}<|im_start|>assistant\n",
        ),
    }


def llama_tensors():
    return {
        "token_embd.weight": ([260, 64], F16),
        "blk.0.attn_norm.weight": ([64], F32),
        "blk.0.attn_q.weight": ([64, 64], F16),
        "blk.0.attn_k.weight": ([32, 64], F16),
        "blk.0.attn_v.weight": ([32, 64], F16),
        "blk.0.attn_output.weight": ([64, 64], F16),
        "blk.0.ffn_norm.weight": ([64], F32),
        "blk.0.ffn_gate.weight": ([64, 64], F16),
        "blk.0.ffn_up.weight": ([64, 64], F16),
        "blk.0.ffn_down.weight": ([64, 64], F16),
        "output_norm.weight": ([64], F32),
    }


def llama(metadata=None, tensors=None):
    """The small Llama with entries replaced, or dropped where None."""

    def changed(original, changes):
        result = {**original, **(changes or {})}
        return {k: v for k, v in result.items() if v is not None}

    return gguf(changed(llama_metadata(), metadata), changed(llama_tensors(), tensors))


# ----------------------------------------------------------------------------
# safetensors and .npy
# ----------------------------------------------------------------------------


def safetensors(header, data=b"", length=None):
    """HEADER is an object, or its bytes; LENGTH overrides that of the bytes."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    size = len(text) if length is None else length
    return struct.pack("<Q", size) + text + data


def tensor(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def npy(descr, shape, data, version=1, order=False):
    """DESCR and SHAPE as they stand in the header."""
    header = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    start = b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H", len(header))
    return start + header.encode() + data


# ----------------------------------------------------------------------------
# Bundles
# ----------------------------------------------------------------------------

BUNDLE_HEADER = "<8sIIQQQQ"  # bundle/include/poot/bundle/format.h


def xxh3(data):
    function = ctypes.CDLL("libxxhash.so.0").XXH3_64bits
    function.restype = ctypes.c_uint64
    function.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    return function(data, len(data))


def reframe(index, data):
    """A bundle with a right header for INDEX and the sections in DATA."""
    start = -(-(64 + len(index)) // 4096) * 4096
    header = struct.pack(
        BUNDLE_HEADER, b"\x89POOT\r\n\x1a", 2, 64, len(index), xxh3(index), start,
        len(data),
    )  # fmt: skip
    head = header.ljust(64, b"\0") + index
    return head.ljust(start, b"\0") + data


class Bundle:
    """A bundle whose index can be edited as JSON, by flatc and the schema."""

    def __init__(self, path, flatc, schema):
        with open(path, "rb") as file:
            self.bytes = file.read()
        self.flatc, self.schema = flatc, schema
        fields = struct.unpack_from(BUNDLE_HEADER, self.bytes)
        self.index = self.bytes[64 : 64 + fields[3]]
        self.data = self.bytes[fields[5] :]

    def header(self, **changes):
        """With fields of the header replaced, and no hash made anew."""
        names = ("magic", "version", "headerSize", "indexSize", "indexHash",
                 "dataStart", "dataSize")  # fmt: skip
        fields = dict(zip(names, struct.unpack_from(BUNDLE_HEADER, self.bytes)))
        fields.update(changes)
        size = struct.calcsize(BUNDLE_HEADER)
        return struct.pack(BUNDLE_HEADER, *fields.values()) + self.bytes[size:]

    def edit(self, change, data=None):
        """With an index that CHANGE, a function, has edited, and DATA for the
        sections."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "index")
            with open(path + ".bin", "wb") as file:
                file.write(self.index)
            run = lambda *a: subprocess.run(
                [self.flatc, *a], check=True, cwd=folder, stdout=subprocess.PIPE
            )
            run("--json", "--strict-json", "--defaults-json", "--raw-binary",
                self.schema, "--", path + ".bin")  # fmt: skip
            with open(path + ".json", encoding="utf-8") as file:
                index = json.load(file)
            change(index)
            with open(path + ".json", "w", encoding="utf-8") as file:
                json.dump(index, file)
            os.remove(path + ".bin")
            # The JSON names the extension that the schema declares.
            run("--binary", self.schema, path + ".json")
            with open(path + ".poot", "rb") as file:
                return reframe(file.read(), data or self.data)


# ----------------------------------------------------------------------------
# Kernels as text
# ----------------------------------------------------------------------------


def kir_module():
    """y[i] = f(x[i]), where the hook f divides 100 by what it gets, unless a
    kernel fills it."""

    def op(spelling, **keys):
        return {"op": spelling, **keys, "loc": 0}

    return {
        "format": "poot-kir",
        "version": 1,
        "files": ["k.cpp"],
        "locations": [None, [0, 3, 7]],
        "functions": [
            {
                "hook_body": "reciprocal",
                "results": ["i32"],
                "loc": 0,
                "blocks": [{
                    "arguments": [[0, "i32", 0]],
                    "ops": [
                        op("arith.constant", results=[[1, "i32"]], value=100),
                        op("arith.divsi", operands=[1, 0], results=[[2, "i32"]]),
                        op("kernel.yield", operands=[2]),
                    ],
                }],
            },
            {
                "kernel": "k",
                "workgroup_size": [4, 1, 1],
                "loc": 1,
                "blocks": [
                    {
                        "arguments": [[0, "buffer<i32, read>", 0], [1, "buffer<i32, write>", 0]],
                        "ops": [
                            op("kernel.local_id", results=[[2, "i32"]], dim="x"),
                            op("cf.br", successors=[[1]]),
                        ],
                    },
                    {
                        "arguments": [],
                        "ops": [
                            op("kernel.load", operands=[0, 2], results=[[3, "i32"]]),
                            op("kernel.hook", operands=[3], results=[[4, "i32"]], name="f",
                               default="reciprocal"),
                            op("kernel.store", operands=[4, 1, 2]),
                            op("kernel.return"),
                        ],
                    },
                ],
            },
        ],
    }  # fmt: skip
