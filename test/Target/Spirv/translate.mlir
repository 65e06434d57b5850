// The command line of poot-translate --kernel-to-spirv.
// RUN: not poot-translate --kernel-to-spirv %s 2>&1 | FileCheck %s --check-prefix=SEVERAL
// RUN: not poot-translate --kernel-to-spirv --kernel third %s 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not poot-translate --kernel-to-spirv --kernel first --target cuda:sm_90a %s 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: poot-translate --kernel-to-spirv --kernel second %s | spirv-dis | FileCheck %s

// SEVERAL: error: the file has several kernels; choose one with --kernel: first, second
// MISSING: error: the file has no kernel 'third'; it has: first, second
// UNKNOWN: error: unknown target 'cuda:sm_90a'; available are vulkan:base, vulkan:f16, vulkan:coopmat and vulkan:cpu
// CHECK: OpEntryPoint GLCompute %{{.*}} "second"

kernel.func @first() attributes {workgroup_size = array<i32: 64, 1, 1>} {
  kernel.return
}
kernel.func @second() attributes {workgroup_size = array<i32: 64, 1, 1>} {
  kernel.return
}
