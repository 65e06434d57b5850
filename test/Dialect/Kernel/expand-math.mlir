// RUN: poot-opt %s --pass-pipeline='builtin.module(kernel.func(kernel-expand-math))' --split-input-file --verify-diagnostics | FileCheck %s

// Nothing that SPIR-V lacks remains.
// CHECK-LABEL: kernel.func @all
// CHECK-NOT: math.{{(erf|erfc|expm1|log1p|cbrt|sin|cos|tan|tanh|atan|atan2|powf|trunc|round|cttz|copysign|isfinite|clampf)\b}}
// CHECK-NOT: arith.{{(ceildivsi|ceildivui|floordivsi)}}
// CHECK: kernel.return
kernel.func @all(%x: !kernel.buffer<f32, read>, %o: !kernel.buffer<f32, write>,
                 %p: !kernel.buffer<i32, write>, %n: i32)
    attributes {workgroup_size = array<i32: 64, 1, 1>} {
  %v = kernel.load %x[%n] : !kernel.buffer<f32, read>
  %0 = math.erf %v : f32
  %1 = math.erfc %0 : f32
  %2 = math.expm1 %1 : f32
  %3 = math.log1p %2 : f32
  %4 = math.cbrt %3 : f32
  %5 = math.sin %4 : f32
  %6 = math.cos %5 : f32
  %7 = math.tan %6 : f32
  %8 = math.tanh %7 : f32
  %9 = math.atan %8 : f32
  %10 = math.atan2 %9, %8 : f32
  %11 = math.powf %10, %9 : f32
  %12 = math.trunc %11 : f32
  %13 = math.round %12 : f32
  %14 = math.copysign %13, %12 : f32
  %15 = math.clampf %14 to [%12, %11] : f32
  %16 = math.isfinite %15 : f32
  %17 = arith.select %16, %15, %14 : f32
  kernel.store %17, %o[%n] : !kernel.buffer<f32, write>
  %20 = math.cttz %n : i32
  %21 = arith.ceildivsi %20, %n : i32
  %22 = arith.floordivsi %21, %n : i32
  %23 = arith.ceildivui %22, %n : i32
  kernel.store %23, %p[%n] : !kernel.buffer<i32, write>
  kernel.return
}

// -----

// Vectors too.
// CHECK-LABEL: kernel.func @vector
// CHECK-NOT: math.erf
// CHECK: kernel.return
kernel.func @vector(%x: !kernel.buffer<vector<4xf32>, read_write>, %n: i32)
    attributes {workgroup_size = array<i32: 64, 1, 1>} {
  %v = kernel.load %x[%n] : !kernel.buffer<vector<4xf32>, read_write>
  %0 = math.erf %v : vector<4xf32>
  kernel.store %0, %x[%n] : !kernel.buffer<vector<4xf32>, read_write>
  kernel.return
}

// -----

// f16: transcendental operations go through f32, arithmetic doesn't.
// CHECK-LABEL: kernel.func @half
// CHECK: %[[V:.*]] = kernel.load
// CHECK: %[[WIDE:.*]] = arith.extf %[[V]] : f16 to f32
// CHECK: %[[E:.*]] = math.exp %[[WIDE]] : f32
// CHECK: %[[R:.*]] = arith.truncf %[[E]] : f32 to f16
// CHECK: arith.addf %[[R]], %[[V]] : f16
kernel.func @half(%x: !kernel.buffer<f16, read_write>, %n: i32)
    attributes {workgroup_size = array<i32: 64, 1, 1>} {
  %v = kernel.load %x[%n] : !kernel.buffer<f16, read_write>
  %0 = math.exp %v : f16
  %1 = arith.addf %0, %v : f16
  kernel.store %1, %x[%n] : !kernel.buffer<f16, read_write>
  kernel.return
}

// -----

// bf16: everything goes through f32, and the conversions are integer code.
// CHECK-LABEL: kernel.func @brain
// CHECK: %[[V:.*]] = kernel.load
// CHECK: arith.bitcast %[[V]] : bf16 to i16
// CHECK: arith.shli
// CHECK: arith.addf %{{.*}} : f32
// CHECK-NOT: arith.{{extf|truncf}}
// CHECK: %[[R:.*]] = arith.bitcast %{{.*}} : i16 to bf16
// CHECK: kernel.store %[[R]]
kernel.func @brain(%x: !kernel.buffer<bf16, read_write>, %n: i32)
    attributes {workgroup_size = array<i32: 64, 1, 1>} {
  %v = kernel.load %x[%n] : !kernel.buffer<bf16, read_write>
  %0 = arith.addf %v, %v : bf16
  kernel.store %0, %x[%n] : !kernel.buffer<bf16, read_write>
  kernel.return
}

// -----

// Counts of bits of other widths go through i32.
// CHECK-LABEL: kernel.func @bits
// CHECK-NOT: math.{{(ctpop|ctlz|cttz)}} %{{.*}} : i8
// CHECK-NOT: math.{{(ctpop|ctlz|cttz)}} %{{.*}} : i64
// CHECK: math.ctpop %{{.*}} : i32
// CHECK: kernel.return
kernel.func @bits(%x: !kernel.buffer<i8, read_write>, %y: !kernel.buffer<i64, read_write>, %n: i32)
    attributes {workgroup_size = array<i32: 64, 1, 1>} {
  %v = kernel.load %x[%n] : !kernel.buffer<i8, read_write>
  %0 = math.ctpop %v : i8
  %1 = math.ctlz %0 : i8
  %2 = math.cttz %1 : i8
  kernel.store %2, %x[%n] : !kernel.buffer<i8, read_write>
  %w = kernel.load %y[%n] : !kernel.buffer<i64, read_write>
  %3 = math.ctpop %w : i64
  %4 = math.ctlz %3 : i64
  %5 = math.cttz %4 : i64
  kernel.store %5, %y[%n] : !kernel.buffer<i64, read_write>
  kernel.return
}

// -----

kernel.func @double(%x: !kernel.buffer<f64, read_write>, %n: i32)
    attributes {workgroup_size = array<i32: 64, 1, 1>} {
  %v = kernel.load %x[%n] : !kernel.buffer<f64, read_write>
  // expected-error @below {{'math.exp' op is not available on 'f64'; GPUs have it on f16, bf16 and f32}}
  %0 = math.exp %v : f64
  kernel.store %0, %x[%n] : !kernel.buffer<f64, read_write>
  kernel.return
}

// -----

// So are the operations of vector that compute.
// CHECK-LABEL: kernel.func @brain_vector
// CHECK: vector.reduction <add>, %{{.*}} : vector<4xf32> into f32
kernel.func @brain_vector(%x: !kernel.buffer<vector<4xbf16>, read>, %o: !kernel.buffer<bf16, write>, %n: i32)
    attributes {workgroup_size = array<i32: 64, 1, 1>} {
  %v = kernel.load %x[%n] : !kernel.buffer<vector<4xbf16>, read>
  %0 = vector.reduction <add>, %v : vector<4xbf16> into bf16
  kernel.store %0, %o[%n] : !kernel.buffer<bf16, write>
  kernel.return
}
