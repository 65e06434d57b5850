# What lit runs and with which tools. The folders mirror lib/.

import os

import lit.formats

config.name = "poot"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "data", "reference"]
config.test_source_root = os.path.join(config.poot_source_dir, "test")
config.test_exec_root = os.path.join(config.poot_binary_dir, "test")

config.environment["PATH"] = os.pathsep.join(
    [
        os.path.join(config.poot_binary_dir, "bin"),
        config.llvm_tools_dir,
        os.environ["PATH"],
    ]
)
# lavapipe on the calling thread: far faster for tiny dispatches.
config.environment["LP_NUM_THREADS"] = "0"
for name in ("HOME", "XDG_CACHE_HOME", "ASAN_OPTIONS", "UBSAN_OPTIONS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

# Every run of poot-opt also verifies that its input survives printing and
# bytecode.
config.substitutions.append((r"\bpoot-opt\b", "poot-opt --verify-roundtrip"))
config.substitutions.append(("%source", config.poot_source_dir))
config.substitutions.append(
    ("%python", os.path.join(config.poot_source_dir, "build", "venv", "bin", "python3"))
)
