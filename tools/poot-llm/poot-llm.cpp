// poot-llm: generates text with a compiled model.
//
// Takes a bundle, the GGUF file it was compiled from (weights and tokenizer)
// and a prompt. The text goes to standard output as it is made; everything
// else goes to standard error. Exits with 0, with 1 when something failed, and
// with 2 when the command line is wrong.

#include "poot/serve/chat.h"
#include "poot/serve/driver.h"
#include "poot/serve/runtime_executor.h"
#include "poot/serve/tokenizer.h"
#include "poot/serve/utf8.h"
#include "poot/weights/atomic_file.h"
#include "poot/weights/gguf.h"
#include "poot/weights/npy.h"

#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <unistd.h>
#include <vector>

using namespace poot;
using namespace poot::serve;
using weights::Expected;
using weights::Status;

namespace {

struct Options {
  std::string bundle, weights, prompt, tokens, logits;
  std::string device = "vulkan";
  bool raw = false, greedy = false;
  int32_t count = 256;
  SamplingOptions sampling{0.8f, 40, 0.95f, 0};
};

/// One line on a terminal that says how far a long step is; nothing when
/// standard error is no terminal.
class ProgressLine {
public:
  void show(const std::string &text) {
    auto now = std::chrono::steady_clock::now();
    if (!isTerminal || (isShown && now - shownAt < period))
      return;
    fprintf(stderr, "\r\033[K%s", text.c_str());
    isShown = true;
    shownAt = now;
  }
  void clear() {
    if (isShown)
      fputs("\r\033[K", stderr);
    isShown = false;
  }
  ~ProgressLine() { clear(); }

private:
  static constexpr std::chrono::milliseconds period{100};
  const bool isTerminal = isatty(STDERR_FILENO);
  bool isShown = false;
  std::chrono::steady_clock::time_point shownAt;
};

} // namespace

static int fail(const std::string &message) {
  fprintf(stderr, "poot-llm: error: %s\n", message.c_str());
  return 1;
}

static bool readStandardInput(std::string &text) {
  char buffer[1 << 16];
  while (size_t size = fread(buffer, 1, sizeof(buffer), stdin))
    text.append(buffer, size);
  return !ferror(stdin);
}

static Expected<std::vector<int32_t>> readTokens(const std::string &path) {
  Expected<weights::NpyArray> array = weights::readNpy(path);
  if (!array)
    return array.status();
  if (array->type != weights::ElementType::I32 || array->shape.size() != 1 ||
      array->shape[0] == 0)
    return weights::makeError(
        weights::StatusCode::InvalidArgument, path, ": holds ",
        weights::getName(array->type), " ", weights::toString(array->shape),
        "; token ids are i32 of one dimension, at least one");
  std::vector<int32_t> tokens(static_cast<size_t>(array->shape[0]));
  memcpy(tokens.data(), array->data.data(), array->data.size());
  return tokens;
}

static Expected<std::vector<int32_t>> encodePrompt(const Tokenizer &tokenizer,
                                                   const Options &options) {
  if (!options.tokens.empty())
    return readTokens(options.tokens);
  if (!options.raw) {
    auto tokens = encodeChat(tokenizer, {{"user", options.prompt}});
    if (!tokens)
      return Status(tokens.status().code(), options.weights + ": " +
                                                tokens.status().message() +
                                                " (--raw)");
    return tokens;
  }
  size_t dropped = 0;
  auto tokens = tokenizer.encode(
      options.prompt, {/*addSpecial=*/true, /*parseSpecial=*/true}, &dropped);
  if (dropped > 0)
    fprintf(stderr,
            "poot-llm: warning: the vocabulary has no tokens for %zu bytes of "
            "the prompt; they are left out\n",
            dropped);
  if (tokens && tokens->empty())
    return Status(weights::StatusCode::InvalidArgument,
                  "the prompt is empty, and this model begins a text with no "
                  "token of its own");
  return tokens;
}

static void printRate(const char *what, size_t count, double seconds) {
  fprintf(stderr, "%s: %zu tokens in %.2f s, %.2f tokens/s\n", what, count,
          seconds, seconds > 0 ? double(count) / seconds : 0.0);
}

static int run(const Options &options) {
  // Before the work, not after it.
  if (!options.logits.empty())
    if (auto file = weights::AtomicFile::create(options.logits); !file)
      return fail(file.status().message());

  Expected<weights::Gguf> file = weights::Gguf::open(options.weights);
  if (!file)
    return fail(file.status().message());
  Expected<Tokenizer> tokenizer = Tokenizer::read(*file);
  if (!tokenizer)
    return fail(tokenizer.status().message());
  Expected<std::vector<int32_t>> prompt = encodePrompt(*tokenizer, options);
  if (!prompt)
    return fail(prompt.status().message());

  ProgressLine progress;
  RuntimeOptions runtimeOptions;
  runtimeOptions.bundle = options.bundle;
  runtimeOptions.device = options.device;
  runtimeOptions.weights = &*file;
  runtimeOptions.progress = [&](const char *what, uint64_t done,
                                uint64_t total) {
    progress.show(weights::concat("loading ", what, ": ",
                                  total ? done * 100 / total : 100, " %"));
  };
  auto executor = RuntimeExecutor::open(runtimeOptions);
  progress.clear();
  if (!executor)
    return fail(executor.status().message());
  fprintf(stderr, "device: %s\n", (*executor)->description().c_str());
  Expected<Driver> driver = Driver::create(**executor);
  if (!driver)
    return fail(options.bundle + ": " + driver.status().message());
  Expected<int32_t> sequence = driver->open();
  if (!sequence)
    return fail(sequence.status().message());

  GenerationOptions generation;
  generation.maxTokens = options.count;
  generation.sampling = options.sampling;
  generation.isEnd = [&](int32_t token) {
    return tokenizer->endsGeneration(token);
  };
  generation.onPrompt = [&](size_t done) {
    progress.show(
        weights::concat("prompt: ", done, " of ", prompt->size(), " tokens"));
  };
  Utf8Stream text;
  auto put = [&](const std::string &piece) {
    progress.clear();
    fwrite(piece.data(), 1, piece.size(), stdout);
    fflush(stdout);
  };
  bool hasText = false;
  generation.onToken = [&](int32_t token) {
    hasText = true;
    put(text.append(tokenizer->bytes(token)));
  };
  std::vector<float> logits;
  if (!options.logits.empty())
    generation.onLogits = [&](const float *row) {
      logits.insert(logits.end(), row, row + driver->vocabularySize());
      return Status();
    };

  progress.show(weights::concat("prompt: 0 of ", prompt->size(), " tokens"));
  Expected<Generation> result =
      generate(*driver, *sequence, *prompt, generation);
  put(text.finish());
  if (hasText)
    put("\n");
  if (!result)
    return fail(result.status().message());
  if (ferror(stdout))
    return fail("standard output can't be written");

  if (!options.logits.empty()) {
    int64_t width = driver->vocabularySize();
    int64_t rows = static_cast<int64_t>(logits.size()) / width;
    if (Status s = weights::writeNpy(options.logits, weights::ElementType::F32,
                                     {rows, width}, logits.data());
        !s.ok())
      return fail(s.message());
  }
  if (result->reason == Generation::Capacity)
    fprintf(stderr,
            "stopped: the bundle's capacity of %d tokens is full; compile it "
            "with a larger --capacity\n",
            driver->capacity());
  printRate("prompt", prompt->size(), result->promptSeconds);
  if (result->decodeSteps > 0)
    printRate("decode", static_cast<size_t>(result->decodeSteps),
              result->decodeSeconds);
  return 0;
}

int main(int argc, char **argv) {
  Options options;
  CLI::App app{"Generates text with a model that poot-compile made a bundle "
               "of.\nThe text goes to standard output, all else to standard "
               "error.\nExit codes: 0 done, 1 failed, 2 wrong command line.",
               "poot-llm"};
  app.set_version_flag("--version", poot_version());
  app.add_option("BUNDLE", options.bundle, "The .poot file")
      ->required()
      ->type_name("");
  app.add_option("--weights", options.weights,
                 "The GGUF file that the bundle was compiled from: its weights "
                 "and its tokenizer")
      ->required()
      ->type_name("MODEL.gguf");
  auto *prompt =
      app.add_option("--prompt", options.prompt,
                     "What to say to the model; - reads it from standard "
                     "input. It becomes a user's message in the model's chat "
                     "form (known is ChatML)")
          ->type_name("TEXT");
  auto *tokens =
      app.add_option("--tokens", options.tokens,
                     "Instead of --prompt: the text's beginning as token ids, "
                     "int32 [tokens]")
          ->type_name("FILE.npy");
  prompt->excludes(tokens);
  app.add_flag("--raw", options.raw,
               "Take the prompt as the beginning of the text itself, in which "
               "special tokens may be spelt out")
      ->needs(prompt);
  app.add_option("-n", options.count,
                 "Generate at most so many tokens; 0 runs the prompt alone")
      ->type_name("COUNT")
      ->check(CLI::Range(0, INT32_MAX))
      ->capture_default_str();
  app.add_option("--device", options.device,
                 "Where to run: vulkan:1, or vulkan for its first GPU, else "
                 "its first CPU device; poot-run --list-devices lists them")
      ->type_name("DEVICE")
      ->capture_default_str();
  auto *temperature =
      app.add_option("--temperature", options.sampling.temperature,
                     "Divides the logits before sampling; 0 is --greedy")
          ->type_name("T")
          ->capture_default_str();
  app.add_flag("--greedy", options.greedy, "Always take the likeliest token")
      ->excludes(temperature);
  app.add_option("--top-k", options.sampling.topK,
                 "Sample among the K likeliest tokens; 0: among all")
      ->type_name("K")
      ->capture_default_str();
  app.add_option("--top-p", options.sampling.topP,
                 "Of these, among the likeliest that together reach "
                 "probability P")
      ->type_name("P")
      ->capture_default_str();
  app.add_option("--seed", options.sampling.seed,
                 "The same seed gives the same text")
      ->type_name("SEED")
      ->capture_default_str();
  app.add_option("--logits", options.logits,
                 "Write logits as float32 [tokens, vocabulary]: a row after "
                 "each token of the prompt and each generated token that is "
                 "run, which all but the last are. The prompt then runs token "
                 "by token; with --tokens -n 0 the rows are the teacher-forced "
                 "logits of a text")
      ->type_name("FILE.npy");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (prompt->empty() && tokens->empty()) {
    fail("either --prompt or --tokens is required");
    return 2;
  }
  if (options.greedy)
    options.sampling.temperature = 0;
  if (auto sampler = Sampler::create(options.sampling); !sampler) {
    fail(sampler.status().message());
    return 2;
  }
  if (options.prompt == "-") {
    options.prompt.clear();
    if (!readStandardInput(options.prompt))
      return fail("standard input can't be read");
  }
  return run(options);
}
