// What the runtime uses of VK_KHR_cooperative_matrix. The extension is younger
// than the oldest Vulkan headers that poot builds with, so its structures stand
// here, with the layout and numbers of the Vulkan specification.

#ifndef POOT_RUNTIME_VULKAN_COOPERATIVE_MATRIX_H
#define POOT_RUNTIME_VULKAN_COOPERATIVE_MATRIX_H

#include "api.h"

namespace poot::runtime::vulkan {

inline constexpr const char *kCooperativeMatrixExtension =
    "VK_KHR_cooperative_matrix";

struct CooperativeMatrixFeatures {
  VkStructureType sType = static_cast<VkStructureType>(1000506000);
  void *pNext = nullptr;
  VkBool32 cooperativeMatrix = VK_FALSE;
  VkBool32 cooperativeMatrixRobustBufferAccess = VK_FALSE;
};

/// One kind of product that a device has.
struct CooperativeMatrixProperties {
  VkStructureType sType = static_cast<VkStructureType>(1000506001);
  void *pNext = nullptr;
  uint32_t rows = 0, columns = 0, inner = 0;
  uint32_t aType = 0, bType = 0, cType = 0, resultType = 0;
  VkBool32 saturatingAccumulation = VK_FALSE;
  uint32_t scope = 0;
};

inline constexpr uint32_t kComponentFloat16 = 0;
inline constexpr uint32_t kComponentFloat32 = 1;
inline constexpr uint32_t kScopeSubgroup = 3;

using GetCooperativeMatrixProperties = VkResult(VKAPI_PTR *)(
    VkPhysicalDevice, uint32_t *, CooperativeMatrixProperties *);

} // namespace poot::runtime::vulkan

#endif // POOT_RUNTIME_VULKAN_COOPERATIVE_MATRIX_H
