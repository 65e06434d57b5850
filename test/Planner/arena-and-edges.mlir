// RUN: poot-opt %s --pass-pipeline='builtin.module(plan.program(plan-assign-arena,plan-add-edges))' | FileCheck %s

// An unused buffer has no place. A command waits for the writers of what it
// reads, for the readers and writers of what it overwrites, and for none that
// another one waits for already.
// CHECK-LABEL: plan.program @hazards
// CHECK-SAME: arena_lower_bound = 1280 : i64, arena_size = 1280 : i64
// CHECK: %[[A:[0-9]+]] = plan.buffer arena bytes 64 at 1024
// CHECK-NEXT: %[[B:[0-9]+]] = plan.buffer arena bytes 1000 at 0
// CHECK-NEXT: plan.buffer arena bytes 64{{$}}
// CHECK-NEXT: %[[C0:[0-9]+]] = plan.copy %0[0] to %[[A]][0] bytes 32{{$}}
// CHECK-NEXT: %[[C1:[0-9]+]] = plan.copy %0[32] to %[[A]][32] bytes 32{{$}}
// CHECK-NEXT: %[[C2:[0-9]+]] = plan.copy %[[A]][0] to %[[B]][0] bytes 32 after(%[[C0]])
// CHECK-NEXT: %[[C3:[0-9]+]] = plan.copy %0[0] to %[[A]][0] bytes 32 after(%[[C2]])
// CHECK-NEXT: %[[C4:[0-9]+]] = plan.copy %[[A]][0] to %1[0] bytes 64 after(%[[C1]], %[[C3]])
// CHECK-NEXT: plan.copy %[[B]][0] to %1[0] bytes 32 after(%[[C4]])
plan.program @hazards target "vulkan:base" entry "hazards" {
  %x = plan.buffer slot "x" bytes 64 type tensor<16xf32>
  %y = plan.buffer output "y" bytes 64 type tensor<16xf32>
  %a = plan.buffer arena bytes 64
  %b = plan.buffer arena bytes 1000
  %unused = plan.buffer arena bytes 64
  %0 = plan.copy %x[0] to %a[0] bytes 32
  %1 = plan.copy %x[32] to %a[32] bytes 32
  %2 = plan.copy %a[0] to %b[0] bytes 32
  %3 = plan.copy %x[0] to %a[0] bytes 32
  %4 = plan.copy %a[0] to %y[0] bytes 64
  %5 = plan.copy %b[0] to %y[0] bytes 32
}
