// Specialization constants become numbers, and what hangs on them folds.
// RUN: poot-opt %s --split-input-file --pass-pipeline='builtin.module(kernel.func(kernel-specialize{values=rows=3,scale=0.5,causal=true}),poot-kernel-optimize)' | FileCheck %s
// RUN: poot-opt %s --split-input-file --pass-pipeline='builtin.module(kernel.func(kernel-specialize{values=causal=true defaults}),poot-kernel-optimize)' | FileCheck %s --check-prefix=DEFAULTS
// RUN: not poot-opt %s --split-input-file --pass-pipeline='builtin.module(kernel.func(kernel-specialize{values=columns=3}))' 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not poot-opt %s --split-input-file --pass-pipeline='builtin.module(kernel.func(kernel-specialize{values=rows=0.5}))' 2>&1 | FileCheck %s --check-prefix=TYPE
// RUN: not poot-opt %s --split-input-file --pass-pipeline='builtin.module(kernel.func(kernel-specialize{values=rows=4294967296}))' 2>&1 | FileCheck %s --check-prefix=RANGE
// RUN: not poot-opt %s --split-input-file --pass-pipeline='builtin.module(kernel.func(kernel-specialize{values=causal=2}))' 2>&1 | FileCheck %s --check-prefix=BOOL

// NAME: error: has no specialization constant 'columns'
// TYPE: error: specialization constant 'rows' of type 'i32' can't be '0.5'
// RANGE: error: specialization constant 'rows' of type 'i32' can't be '4294967296'
// BOOL: error: specialization constant 'causal' of type 'i1' can't be '2'

// The loop has three trips then, and its array is three values.
// CHECK-LABEL: kernel.func @scale
// CHECK-DAG: %[[HALF:.*]] = arith.constant 5.000000e-01 : f32
// CHECK-DAG: %[[DEFAULT:.*]] = kernel.spec_constant "offset" = 7 : i32
// CHECK-NOT: kernel.var
// CHECK-COUNT-3: kernel.load
// CHECK-NOT: kernel.load
// CHECK: arith.mulf %{{.*}}, %[[HALF]]
// CHECK: kernel.store %{{.*}}[%[[DEFAULT]]]
// CHECK: kernel.return
// DEFAULTS-NOT: kernel.spec_constant
// DEFAULTS: arith.constant 64 : i32
// DEFAULTS-NOT: kernel.spec_constant
kernel.func @scale(%x: !kernel.buffer<f32, read>, %y: !kernel.buffer<f32, write>)
    attributes {workgroup_size = array<i32: 16, 1, 1>} {
  %rows = kernel.spec_constant "rows" = 64 : i32
  %scale = kernel.spec_constant "scale" = 1.0 : f32
  %causal = kernel.spec_constant "causal" = false
  %offset = kernel.spec_constant "offset" = 7 : i32
  %a = kernel.var : !kernel.var<64xf32>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant 0.0 : f32
  cf.cond_br %causal, ^read(%c0 : i32), ^end(%zero : f32)
^read(%i: i32):
  %v = kernel.load %x[%i] : !kernel.buffer<f32, read>
  kernel.var_store %v, %a[%i] : !kernel.var<64xf32>
  %i2 = arith.addi %i, %c1 : i32
  %more = arith.cmpi slt, %i2, %rows : i32
  cf.cond_br %more, ^read(%i2 : i32), ^sum(%c0, %zero : i32, f32)
^sum(%j: i32, %s: f32):
  %go = arith.cmpi slt, %j, %rows : i32
  cf.cond_br %go, ^add, ^end(%s : f32)
^add:
  %w = kernel.var_load %a[%j] : !kernel.var<64xf32>
  %s2 = arith.addf %s, %w : f32
  %j2 = arith.addi %j, %c1 : i32
  cf.br ^sum(%j2, %s2 : i32, f32)
^end(%r: f32):
  %z = arith.mulf %r, %scale : f32
  kernel.store %z, %y[%offset] : !kernel.buffer<f32, write>
  kernel.return
}
