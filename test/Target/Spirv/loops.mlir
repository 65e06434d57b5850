// Hints that are left control the loops in the binary.
// RUN: poot-translate --kernel-to-spirv %s -o %t.spv
// RUN: spirv-val --target-env vulkan1.2 %t.spv
// RUN: spirv-dis %t.spv | FileCheck %s

// CHECK: OpLoopMerge %{{.*}} %{{.*}} DontUnroll
// CHECK: OpLoopMerge %{{.*}} %{{.*}} Unroll
// CHECK: OpLoopMerge %{{.*}} %{{.*}} None
kernel.func @loops(%x: !kernel.buffer<i32, read_write>, %n: i32)
    attributes {workgroup_size = array<i32: 32, 1, 1>} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  cf.br ^a(%c0 : i32)
^a(%i: i32):
  kernel.loop_hint nounroll
  %goA = arith.cmpi slt, %i, %n : i32
  cf.cond_br %goA, ^aBody, ^b(%c0 : i32)
^aBody:
  kernel.store %i, %x[%i] : !kernel.buffer<i32, read_write>
  %i1 = arith.addi %i, %c1 : i32
  cf.br ^a(%i1 : i32)
^b(%j: i32):
  kernel.loop_hint unroll times 4
  kernel.store %n, %x[%j] : !kernel.buffer<i32, read_write>
  %j1 = arith.addi %j, %c1 : i32
  %goB = arith.cmpi slt, %j1, %n : i32
  cf.cond_br %goB, ^b(%j1 : i32), ^c(%c0 : i32)
^c(%k: i32):
  %goC = arith.cmpi slt, %k, %n : i32
  cf.cond_br %goC, ^cBody, ^exit
^cBody:
  kernel.store %c1, %x[%k] : !kernel.buffer<i32, read_write>
  %k1 = arith.addi %k, %c1 : i32
  cf.br ^c(%k1 : i32)
^exit:
  kernel.return
}
