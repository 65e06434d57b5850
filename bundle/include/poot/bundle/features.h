//===- features.h - Device features that a kernel may require -------------===//
//
// The one table of feature names. The compiler writes the names of the
// features that a kernel needs into the bundle; a device states which of them
// it has. A name never changes its meaning once a version has been released.
//
//===----------------------------------------------------------------------===//

#ifndef POOT_BUNDLE_FEATURES_H
#define POOT_BUNDLE_FEATURES_H

#include <cstddef>
#include <cstring>

namespace poot::bundle {

/// A capability beyond 32-bit arithmetic and basic compute. The order is that
/// of `kFeatures`.
enum class Feature : unsigned {
  Storage8,
  Storage16,
  Int8,
  Int16,
  Int64,
  Float16,
  Float64,
  SubgroupBasic,
  SubgroupVote,
  SubgroupArithmetic,
  SubgroupBallot,
  SubgroupShuffle,
  SubgroupShuffleRelative,
  SubgroupExtendedTypes,
  Int64Atomics,
  Int64WorkgroupAtomics,
  CooperativeMatrix,
  Cpu,
};

struct FeatureInfo {
  /// As spelt in bundles and messages.
  const char *name;
  /// What a device with this feature can do, for messages.
  const char *meaning;
};

inline constexpr FeatureInfo kFeatures[] = {
    {"storage8", "8-bit loads and stores in buffers"},
    {"storage16", "16-bit loads and stores in buffers"},
    {"int8", "8-bit integer arithmetic"},
    {"int16", "16-bit integer arithmetic"},
    {"int64", "64-bit integer arithmetic, loads and stores"},
    {"float16", "half-precision arithmetic"},
    {"float64", "double-precision arithmetic, loads and stores"},
    {"subgroup-basic", "subgroup size, number and lane index"},
    {"subgroup-vote", "any and all over a subgroup"},
    {"subgroup-arithmetic", "reductions and scans over a subgroup"},
    {"subgroup-ballot", "broadcast within a subgroup"},
    {"subgroup-shuffle", "shuffle by index and by mask within a subgroup"},
    {"subgroup-shuffle-relative", "shuffle up and down within a subgroup"},
    {"subgroup-extended-types",
     "subgroup operations on 8, 16 and 64-bit types"},
    {"int64-atomics", "64-bit atomics in buffers"},
    {"int64-workgroup-atomics", "64-bit atomics in workgroup arrays"},
    {"cooperative-matrix",
     "subgroups multiply 16x16 matrices of f16 and add them up in f32"},
    {"cpu", "invocations run on a CPU"},
};

inline constexpr size_t kNumFeatures = sizeof(kFeatures) / sizeof(*kFeatures);
static_assert(kNumFeatures == static_cast<size_t>(Feature::Cpu) + 1,
              "every feature has its row, in the order of the enumeration");

inline constexpr const char *featureName(Feature feature) {
  return kFeatures[static_cast<size_t>(feature)].name;
}

/// Finds a feature by its name. Returns false for a name that this version
/// does not know.
inline bool parseFeature(const char *name, Feature &feature) {
  for (size_t i = 0; i != kNumFeatures; ++i)
    if (std::strcmp(kFeatures[i].name, name) == 0) {
      feature = static_cast<Feature>(i);
      return true;
    }
  return false;
}

} // namespace poot::bundle

#endif // POOT_BUNDLE_FEATURES_H
