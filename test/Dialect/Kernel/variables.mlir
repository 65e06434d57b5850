// Variables of an invocation: what becomes of them with SROA and mem2reg.
// RUN: poot-opt %s --sroa --mem2reg --canonicalize | FileCheck %s

// An array that constants index is split, and its elements become values.
// CHECK-LABEL: kernel.func @array
// CHECK-NOT: kernel.var
// CHECK: %[[V:.*]] = kernel.load
// CHECK: kernel.store %[[V]]
kernel.func @array(%x: !kernel.buffer<vector<4xf32>, read>,
                   %y: !kernel.buffer<vector<4xf32>, write>, %n: i32)
    attributes {workgroup_size = array<i32: 1, 1, 1>} {
  %a = kernel.var : !kernel.var<2x3xvector<4xf32>>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %v = kernel.load %x[%n] : !kernel.buffer<vector<4xf32>, read>
  kernel.var_store %v, %a[%c1, %c2] : !kernel.var<2x3xvector<4xf32>>
  %zero = arith.constant dense<0.0> : vector<4xf32>
  kernel.var_store %zero, %a[%c0, %c2] : !kernel.var<2x3xvector<4xf32>>
  %w = kernel.var_load %a[%c1, %c2] : !kernel.var<2x3xvector<4xf32>>
  kernel.store %w, %y[%n] : !kernel.buffer<vector<4xf32>, write>
  kernel.return
}

// One index that is no constant keeps the array.
// CHECK-LABEL: kernel.func @indexed
// CHECK: %[[A:.*]] = kernel.var : !kernel.var<4xi32>
// CHECK: kernel.var_store %{{.*}}, %[[A]][%{{.*}}]
// CHECK: kernel.var_load %[[A]][%{{.*}}]
kernel.func @indexed(%y: !kernel.buffer<i32, write>, %n: i32)
    attributes {workgroup_size = array<i32: 1, 1, 1>} {
  %a = kernel.var : !kernel.var<4xi32>
  %c0 = arith.constant 0 : i32
  kernel.var_store %n, %a[%c0] : !kernel.var<4xi32>
  %w = kernel.var_load %a[%n] : !kernel.var<4xi32>
  kernel.store %w, %y[%n] : !kernel.buffer<i32, write>
  kernel.return
}

// So does one out of bounds: that it is never executed may be known later.
// CHECK-LABEL: kernel.func @out_of_bounds
// CHECK: %[[A:.*]] = kernel.var : !kernel.var<4xi32>
// CHECK: kernel.var_load %[[A]][%{{.*}}]
kernel.func @out_of_bounds(%y: !kernel.buffer<i32, write>, %n: i32)
    attributes {workgroup_size = array<i32: 1, 1, 1>} {
  %a = kernel.var : !kernel.var<4xi32>
  %c4 = arith.constant 4 : i32
  %w = kernel.var_load %a[%c4] : !kernel.var<4xi32>
  kernel.store %w, %y[%n] : !kernel.buffer<i32, write>
  kernel.return
}

// A value for each way that control takes; of i1 and fragments too.
// CHECK-LABEL: kernel.func @joins
// CHECK-NOT: kernel.var
// CHECK: cf.cond_br
// CHECK: ^bb{{.*}}(%{{.*}}: !kernel.fragment<16x16xf32, accumulator>, %{{.*}}: i1)
kernel.func @joins(%x: !kernel.buffer<f32, read>,
                   %y: !kernel.buffer<f32, write>, %n: i32)
    attributes {workgroup_size = array<i32: 32, 1, 1>} {
  %f = kernel.var : !kernel.var<!kernel.fragment<16x16xf32, accumulator>>
  %b = kernel.var : !kernel.var<i1>
  %c0 = arith.constant 0 : i32
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  %init = kernel.fragment_fill %zero
      : !kernel.fragment<16x16xf32, accumulator>
  kernel.var_store %init, %f[]
      : !kernel.var<!kernel.fragment<16x16xf32, accumulator>>
  %c = arith.cmpi slt, %n, %c0 : i32
  kernel.var_store %c, %b[] : !kernel.var<i1>
  cf.cond_br %c, ^then, ^end
^then:
  %l = kernel.fragment_load row %x[%c0], %n : !kernel.buffer<f32, read>
      -> !kernel.fragment<16x16xf32, accumulator>
  kernel.var_store %l, %f[]
      : !kernel.var<!kernel.fragment<16x16xf32, accumulator>>
  %any = kernel.subgroup_any %c
  kernel.var_store %any, %b[] : !kernel.var<i1>
  cf.br ^end
^end:
  %r = kernel.var_load %f[]
      : !kernel.var<!kernel.fragment<16x16xf32, accumulator>>
  kernel.fragment_store column %r, %y[%c0], %n
      : !kernel.fragment<16x16xf32, accumulator>, !kernel.buffer<f32, write>
  %o = kernel.var_load %b[] : !kernel.var<i1>
  cf.cond_br %o, ^store, ^return
^store:
  kernel.store %zero, %y[%n] : !kernel.buffer<f32, write>
  cf.br ^return
^return:
  kernel.return
}

// What was never written stays a value of its own: a choice between it and
// another doesn't fold to the other, as with poison.
// CHECK-LABEL: kernel.func @unwritten
// CHECK-DAG: %[[F:.*]] = kernel.unwritten : i1
// CHECK-DAG: %[[U:.*]] = kernel.unwritten : f32
// CHECK: kernel.store %[[U]]
// CHECK: arith.select %{{.*}}, %{{.*}}, %[[F]] : i1
kernel.func @unwritten(%y: !kernel.buffer<f32, write>, %n: i32)
    attributes {workgroup_size = array<i32: 1, 1, 1>} {
  %a = kernel.var : !kernel.var<f32>
  %w = kernel.var_load %a[] : !kernel.var<f32>
  kernel.store %w, %y[%n] : !kernel.buffer<f32, write>
  %flag = kernel.var : !kernel.var<i1>
  %true = arith.constant true
  %zero = arith.constant 0 : i32
  %found = arith.cmpi sgt, %n, %zero : i32
  cf.cond_br %found, ^set, ^next
^set:
  kernel.var_store %true, %flag[] : !kernel.var<i1>
  cf.br ^next
^next:
  %f = kernel.var_load %flag[] : !kernel.var<i1>
  cf.cond_br %f, ^store, ^return
^store:
  kernel.store %w, %y[%zero] : !kernel.buffer<f32, write>
  cf.br ^return
^return:
  kernel.return
}

// What is never read is no variable, also where an index isn't known.
// CHECK-LABEL: kernel.func @unread
// CHECK-NEXT: kernel.return
kernel.func @unread(%n: i32) attributes {workgroup_size = array<i32: 1, 1, 1>} {
  %a = kernel.var : !kernel.var<4xi32>
  kernel.var_store %n, %a[%n] : !kernel.var<4xi32>
  kernel.return
}
