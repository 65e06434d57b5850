//===- LlamaTest.cpp - Steps of a small Llama, by the oracle --------------===//
//
// One small random model in its two storage forms. Equal logits are asked of
// both forms, of a prefill chunk and of decode steps, of contiguous and paged
// caches, and of a sequence alone and beside another with padding. That the
// numbers are right at all is the comparison with an independent implementation
// in test/reference.
//
//===----------------------------------------------------------------------===//

#include "Poot/Dialect/Graph/ElementTypes.h"
#include "Poot/Dialect/Graph/Passes.h"
#include "Poot/Eval/Eval.h"
#include "Poot/Model/Family.h"
#include "Poot/Model/TraceModel.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

#include <gtest/gtest.h>

using namespace poot;
using namespace poot::model;
using namespace poot::trace;

namespace {

using Floats = std::vector<float>;
using Ints = std::vector<int32_t>;

constexpr int kHeads = 4, kKvHeads = 2, kHeadDim = 6, kHidden = 16, kVocab = 21;

ModelConfig makeConfig(Source source) {
  ModelConfig config;
  config.source = source;
  config.vocabSize = kVocab;
  config.hiddenSize = kHidden;
  config.layers = 2;
  config.heads = kHeads;
  config.kvHeads = kKvHeads;
  config.headDim = kHeadDim; // Not hidden / heads.
  config.ffnSize = 20;
  config.contextLength = 64;
  config.rope.dim = kHeadDim;
  config.attentionBias = true;
  return config;
}

/// Values for ROLE, a function of its name alone.
Floats makeValues(const std::string &role, size_t count) {
  uint32_t seed = 2166136261u;
  for (char c : role)
    seed = (seed ^ static_cast<uint8_t>(c)) * 16777619u;
  Floats values(count);
  for (float &value : values) {
    seed = seed * 1664525 + 1013904223;
    value = static_cast<float>(seed >> 8) / float(1 << 23) - 1;
  }
  return values;
}

/// Rows of Q or K as GGUF stores them: row 2i of a head is its row i, row
/// 2i + 1 its row i + d/2 (llama.cpp, convert_hf_to_gguf.py, permute).
Floats permuteRows(const Floats &rows, int heads) {
  size_t width = rows.size() / (heads * kHeadDim);
  Floats result(rows.size());
  for (int h = 0; h < heads; ++h)
    for (int i = 0; i < kHeadDim; ++i) {
      int from = h * kHeadDim + i / 2 + (i % 2) * (kHeadDim / 2);
      int to = h * kHeadDim + i;
      std::copy_n(rows.begin() + from * width, width,
                  result.begin() + to * width);
    }
  return result;
}

class Llama {
public:
  explicit Llama(Source source, bool tied = false) {
    model.config = makeConfig(source);
    model.config.tiedEmbeddings = tied;
    model.family = *findFamily("llama", "test");
    for (const WeightSpec &spec : model.family->weights(model.config)) {
      if (spec.optional)
        continue;
      size_t count = *weights::countElements(spec.shape);
      Floats &value = values[spec.role] = makeValues(spec.role, count);
      bool isQ = spec.role.find("attn_q.") != std::string::npos;
      bool isK = spec.role.find("attn_k.") != std::string::npos;
      if (source == Source::Gguf && (isQ || isK))
        value = permuteRows(value, isQ ? kHeads : kKvHeads);
      model.weights[spec.role] = {spec.role, {ElementType::F32, spec.shape}};
    }
  }

  /// Traces the entries of SHAPES; afterwards `step` runs them.
  void trace(const std::vector<StepShape> &shapes, bool hoist = false,
             bool composites = false) {
    module = traceModel(context, model, shapes);
    ASSERT_TRUE(module);
    if (composites) {
      mlir::PassManager passes(&context);
      graph::buildCompositesPipeline(passes);
      passes.addPass(graph::createGraphVerify());
      ASSERT_TRUE(succeeded(passes.run(*module)));
    }
    if (hoist) {
      mlir::PassManager passes(&context);
      passes.addPass(mlir::createCanonicalizerPass());
      passes.addPass(graph::createGraphHoistComputed());
      passes.addPass(mlir::createCSEPass());
      passes.addPass(graph::createGraphVerify());
      ASSERT_TRUE(succeeded(passes.run(*module)));
      ASSERT_TRUE(graph::getLoadFunction(*module));
    }
    environment.emplace(
        [this](llvm::StringRef name, mlir::Type type,
               llvm::function_ref<mlir::InFlightDiagnostic()>)
            -> mlir::FailureOr<eval::Tensor> {
          return eval::Tensor::borrow(
              llvm::cast<mlir::RankedTensorType>(type).getElementType(),
              graph::getShape(type), values.at(name.str()).data());
        },
        /*openExtent=*/64);
  }

  /// The first output of the entry NAME.
  eval::Tensor step(const StepShape &shape, const std::vector<Ints> &slots) {
    auto function =
        module->lookupSymbol<mlir::func::FuncOp>(getEntryName(shape));
    llvm::SmallVector<eval::Tensor> tensors;
    for (auto [type, values] :
         llvm::zip_equal(function.getArgumentTypes(), slots)) {
      auto tensorType = llvm::cast<mlir::RankedTensorType>(type);
      auto tensor = *eval::Tensor::allocate(tensorType.getElementType(),
                                            tensorType.getShape());
      EXPECT_EQ(tensor.getNumElements(), static_cast<int64_t>(values.size()));
      std::copy(values.begin(), values.end(), tensor.mutableData<int32_t>());
      tensors.push_back(tensor);
    }
    auto results = eval::evalFunction(function, tensors, *environment);
    EXPECT_TRUE(succeeded(results));
    return (*results)[0];
  }

  Floats logits(const StepShape &shape, const std::vector<Ints> &slots) {
    eval::Tensor result = step(shape, slots);
    return Floats(result.dataAs<float>(),
                  result.dataAs<float>() + result.getNumElements());
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  Model model;

private:
  std::map<std::string, Floats> values;
  std::optional<eval::Environment> environment;
};

void expectNear(const Floats &a, const Floats &b, float tolerance = 2e-5f) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_NEAR(a[i], b[i], tolerance) << "logit " << i;
}

StepShape prefill(int64_t tokens, LogitsRows logits) {
  StepShape shape;
  shape.phase = Phase::Prefill;
  shape.tokens = tokens;
  shape.capacity = 8;
  shape.logits = logits;
  shape.suffix = Suffix::Logits;
  return shape;
}

StepShape decode(Suffix suffix = Suffix::Logits) {
  StepShape shape;
  shape.capacity = 8;
  shape.suffix = suffix;
  return shape;
}

const Ints kTokens = {3, 17, 5, 20, 0};

/// Logits of every token of kTokens from one chunk.
Floats allLogits(Llama &llama) {
  StepShape shape = prefill(5, LogitsRows::All);
  llama.trace({shape});
  return llama.logits(shape, {kTokens, {0, 1, 2, 3, 4}, {0, 1, 2, 3, 4}});
}

TEST(Llama, StorageFormsAgree) {
  Llama gguf(Source::Gguf), huggingFace(Source::HuggingFace);
  Floats a = allLogits(gguf), b = allLogits(huggingFace);
  expectNear(a, b);
  // The test would be void if the order of rows did not matter.
  Llama wrong(Source::Gguf);
  wrong.model.config.source = Source::HuggingFace;
  Floats c = allLogits(wrong);
  float largest = 0;
  for (size_t i = 0; i < a.size(); ++i)
    largest = std::max(largest, std::abs(a[i] - c[i]));
  EXPECT_GT(largest, 0.01f);
}

TEST(Llama, TiedMatrixIsTheEmbedding) {
  Llama tied(Source::Gguf, /*tied=*/true), own(Source::Gguf);
  EXPECT_EQ(tied.model.weights.count("output.weight"), 0u);
  Floats a = allLogits(tied), b = allLogits(own);
  EXPECT_NE(a, b);
}

/// Chunks with padding, then decode steps, give what one chunk gives.
TEST(Llama, ChunksAndDecodeAgree) {
  Llama llama(Source::Gguf);
  Floats all = allLogits(llama);
  auto expected = [&](int token) {
    return Floats(all.begin() + token * kVocab,
                  all.begin() + (token + 1) * kVocab);
  };
  for (bool hoist : {false, true}) {
    StepShape chunk = prefill(4, LogitsRows::Last), one = decode();
    llama.trace({chunk, one}, hoist);
    expectNear(
        llama.logits(chunk, {{3, 17, 5, 0}, {0, 1, 2, -1}, {0, 1, 2, -1}, {2}}),
        expected(2));
    expectNear(llama.logits(one, {{20}, {3}, {3}, {0}}), expected(3));
    expectNear(llama.logits(one, {{0}, {4}, {4}, {0}}), expected(4));
  }
}

TEST(Llama, GreedyTakesTheLargest) {
  Llama llama(Source::Gguf);
  Floats all = allLogits(llama);
  StepShape greedy = decode(Suffix::Greedy);
  llama.trace({greedy});
  for (int i = 0; i < 5; ++i) {
    eval::Tensor next = llama.step(greedy, {{kTokens[i]}, {i}, {i}, {0}});
    auto row = all.begin() + i * kVocab;
    EXPECT_EQ(next.getNumElements(), 1);
    EXPECT_EQ(next.dataAs<int32_t>()[0],
              std::max_element(row, row + kVocab) - row);
  }
}

/// Two rows, one of them all padding at first, do not disturb each other.
TEST(Llama, RowsAreIndependent) {
  Llama llama(Source::Gguf);
  Floats all = allLogits(llama);
  StepShape shape = prefill(3, LogitsRows::Last);
  shape.rows = 2;
  llama.trace({shape});
  Floats first = llama.logits(shape, {{3, 17, 5, 0, 0, 0},
                                      {0, 1, 2, -1, -1, -1},
                                      {0, 1, 2, -1, -1, -1},
                                      {2, 0}});
  expectNear(Floats(first.begin(), first.begin() + kVocab),
             Floats(all.begin() + 2 * kVocab, all.begin() + 3 * kVocab));
  for (float value : first)
    EXPECT_TRUE(std::isfinite(value)) << "padding gives numbers";
  Floats second = llama.logits(shape, {{20, 0, 0, 3, 17, 0},
                                       {3, 4, -1, 0, 1, -1},
                                       {3, 4, -1, 8, 9, -1},
                                       {1, 1}});
  expectNear(Floats(second.begin(), second.begin() + kVocab),
             Floats(all.begin() + 4 * kVocab, all.end()));
  expectNear(Floats(second.begin() + kVocab, second.end()),
             Floats(all.begin() + kVocab, all.begin() + 2 * kVocab));
}

TEST(Llama, PagedCacheAgrees) {
  Llama llama(Source::Gguf);
  Floats all = allLogits(llama);
  StepShape shape = prefill(5, LogitsRows::All);
  shape.cache = CacheLayout::Paged;
  shape.blockSize = 2;
  llama.trace({shape});
  // Blocks 9, 4 and 30; the fourth is not there yet.
  Floats paged = llama.logits(
      shape, {kTokens, {0, 1, 2, 3, 4}, {18, 19, 8, 9, 60}, {9, 4, 30, -1}});
  expectNear(paged, all);
}

TEST(Llama, HalfPrecisionIsNear) {
  Llama llama(Source::Gguf);
  Floats all = allLogits(llama);
  StepShape shape = prefill(5, LogitsRows::All);
  shape.numerics = {ElementType::F16, ElementType::BF16, ElementType::F32};
  llama.trace({shape});
  Floats half =
      llama.logits(shape, {kTokens, {0, 1, 2, 3, 4}, {0, 1, 2, 3, 4}});
  expectNear(half, all, 0.2f);
  EXPECT_NE(half, all);
}

/// Number of OPs in the module.
template <class Op> unsigned count(mlir::ModuleOp module) {
  unsigned found = 0;
  module.walk([&](Op) { ++found; });
  return found;
}

/// What remains of a step once composites are found: no product, no reduction
/// and no weight that is decoded or widened as a whole.
void expectComposites(mlir::ModuleOp module, unsigned entries,
                      unsigned layers) {
  EXPECT_EQ(count<graph::AttentionOp>(module), entries * layers);
  EXPECT_EQ(count<graph::RopeOp>(module), entries * layers * 2);
  EXPECT_EQ(count<graph::RmsNormOp>(module), entries * (layers * 2 + 1));
  EXPECT_EQ(count<graph::ReduceOp>(module), 0u);
  EXPECT_EQ(count<graph::PackedDequantOp>(module), 0u);
}

/// Both forms of rotation, both caches, f16 and f32: the composites compute
/// what the primitives did, bit for bit, because the oracle takes them apart
/// again.
TEST(Llama, CompositesComputeTheSame) {
  for (Source source : {Source::Gguf, Source::HuggingFace})
    for (CacheLayout cache : {CacheLayout::Contiguous, CacheLayout::Paged})
      for (ElementType activation : {ElementType::F32, ElementType::F16}) {
        StepShape chunk = prefill(3, LogitsRows::All), one = decode();
        chunk.rows = one.rows = 2;
        for (StepShape *shape : {&chunk, &one}) {
          shape->cache = cache;
          shape->blockSize = 2;
          shape->numerics = {activation, ElementType::BF16, ElementType::F32};
        }
        std::vector<Floats> logits;
        for (bool composites : {false, true}) {
          Llama llama(source);
          llama.trace({chunk, one}, /*hoist=*/false, composites);
          if (composites)
            expectComposites(*llama.module, 2, 2);
          std::vector<Ints> first = {{3, 17, 5, 20, 0, 0},
                                     {0, 1, 2, 0, 1, -1},
                                     {0, 1, 2, 8, 9, -1},
                                     {2, 1}};
          std::vector<Ints> second = {{20, 9}, {3, 2}, {3, 10}, {0, 0}};
          // The identity, so that slots are those of the contiguous cache.
          if (cache == CacheLayout::Paged)
            for (std::vector<Ints> *slots : {&first, &second})
              slots->push_back({0, 1, 2, 3, 4, 5, 6, 7});
          if (chunk.logits == LogitsRows::All)
            first.erase(first.begin() + 3);
          logits.push_back(llama.logits(chunk, first));
          logits.push_back(llama.logits(one, second));
        }
        EXPECT_EQ(logits[0], logits[2]);
        EXPECT_EQ(logits[1], logits[3]);
      }
}

TEST(Llama, EntriesOfOneModuleShareDequantizedWeights) {
  Llama llama(Source::Gguf);
  for (auto &[role, weight] : llama.model.weights)
    if (weight.type.shape.size() == 2)
      weight.type.element = ElementType::F16;
  llama.trace({prefill(4, LogitsRows::Last), decode()}, /*hoist=*/true);
  unsigned matrices = 0;
  for (auto computed : llama.module->getOps<graph::ComputedOp>())
    matrices += computed.getSymName().ends_with(".weight.f32");
  // Seven a layer, the embedding table and the output matrix.
  EXPECT_EQ(matrices, 2 * 7 + 2u);
}

TEST(Llama, StepErrors) {
  Llama llama(Source::Gguf);
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::ModuleOp::create(mlir::UnknownLoc::get(&llama.context));
  StepShape shape = decode();
  shape.capacity = 65;
  {
    Builder b(*module);
    weights::Status status = traceStep(llama.model, shape, b);
    EXPECT_NE(status.message().find("65 exceeds the model's context of 64"),
              std::string::npos)
        << status.message();
  }
  {
    TraceLimits limits;
    limits.maxOps = 100;
    Builder b(*module, limits);
    weights::Status status = traceStep(llama.model, decode(), b);
    EXPECT_EQ(status.code(), weights::StatusCode::ResourceExhausted);
    EXPECT_EQ(status.message().rfind("decode_r1_c8_logits: blk.0/", 0), 0u)
        << status.message();
  }
}

TEST(Llama, EveryPresetTraces) {
  for (const std::string &name : presetNames()) {
    auto model = presetModel(name, ElementType::Q8_0);
    ASSERT_TRUE(model) << model.status().message();
    mlir::MLIRContext context;
    StepShape chunk = prefill(37, LogitsRows::Last), one = decode();
    chunk.capacity = one.capacity = 1021;
    chunk.numerics = {ElementType::F16, ElementType::F16, ElementType::F32};
    one.numerics = {ElementType::F32, ElementType::F16, ElementType::F32};
    auto module = traceModel(context, *model, {chunk, one});
    ASSERT_TRUE(module) << name;
    mlir::PassManager passes(&context);
    graph::buildCompositesPipeline(passes);
    ASSERT_TRUE(succeeded(passes.run(*module)));
    SCOPED_TRACE(name);
    auto layers = static_cast<unsigned>(model->config.layers);
    expectComposites(*module, 2, layers);
    EXPECT_EQ(count<graph::MatmulOp>(*module), 0u);
    // No buffer of scores: nothing runs along tokens and positions, whose
    // extents nothing else has.
    module->walk([&](mlir::Operation *op) {
      for (mlir::Type type : op->getResultTypes())
        if (auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type))
          EXPECT_FALSE(llvm::is_contained(tensor.getShape(), 37) &&
                       llvm::is_contained(tensor.getShape(), 1021));
    });
  }
}

} // namespace
