// What a target doesn't have is an error where it is used, never a crash.
// RUN: poot-opt %s --poot-kernel-to-spirv=target=vulkan:base --split-input-file --verify-diagnostics

kernel.func @storage(%x: !kernel.buffer<f32, read>, %n: i32,
                     %s: f32) attributes {workgroup_size = array<i32: 64, 1, 1>} {
  // expected-error @below {{'kernel.workgroup_alloc' op result has type '!kernel.workgroup<4xf16>', which target vulkan:base doesn't have; allowed are i1, i32, f32 and vectors of 2 to 4 of them}}
  %a = kernel.workgroup_alloc : !kernel.workgroup<4xf16>
  %v = kernel.load %a[%n] : !kernel.workgroup<4xf16>
  kernel.store %v, %a[%n] : !kernel.workgroup<4xf16>
  kernel.return
}

// -----

// expected-error @below {{'kernel.func' op argument #0 has type '!kernel.buffer<i8, read>', which target vulkan:base doesn't have}}
kernel.func @argument(%x: !kernel.buffer<i8, read>) attributes {workgroup_size = array<i32: 64, 1, 1>} {
  kernel.return
}

// -----

kernel.func @odd_type(%x: !kernel.buffer<i32, read_write>, %n: i32) attributes {workgroup_size = array<i32: 64, 1, 1>} {
  // expected-error @below {{result has type 'i128', which target vulkan:base doesn't have}}
  %0 = arith.extsi %n : i32 to i128
  %1 = arith.addi %0, %0 : i128
  %2 = arith.trunci %1 : i128 to i32
  kernel.store %2, %x[%n] : !kernel.buffer<i32, read_write>
  kernel.return
}

// -----

kernel.func @matrix_vector(%x: !kernel.buffer<f32, read_write>, %n: i32, %s: f32) attributes {workgroup_size = array<i32: 64, 1, 1>} {
  // expected-error @below {{result has type 'vector<2x2xf32>', which target vulkan:base doesn't have}}
  %0 = vector.broadcast %s : f32 to vector<2x2xf32>
  %1 = arith.addf %0, %0 : vector<2x2xf32>
  %2 = vector.extract %1[1, 0] : f32 from vector<2x2xf32>
  kernel.store %2, %x[%n] : !kernel.buffer<f32, read_write>
  kernel.return
}

// -----

// expected-error @below {{has 512 invocations in a workgroup; target vulkan:base allows 256}}
kernel.func @invocations() attributes {workgroup_size = array<i32: 64, 8, 1>} {
  kernel.return
}

// -----

kernel.func @workgroup_memory(%n: i32, %s: f32) attributes {workgroup_size = array<i32: 64, 1, 1>} {
  %a = kernel.workgroup_alloc : !kernel.workgroup<4096xf32>
  // expected-error @below {{brings the workgroup arrays to 16400 bytes; target vulkan:base allows 16384}}
  %b = kernel.workgroup_alloc : !kernel.workgroup<1xvector<4xf32>>
  %v = kernel.load %b[%n] : !kernel.workgroup<1xvector<4xf32>>
  kernel.store %v, %b[%n] : !kernel.workgroup<1xvector<4xf32>>
  kernel.store %s, %a[%n] : !kernel.workgroup<4096xf32>
  kernel.return
}

// -----

// expected-error @below {{has 132 bytes of metadata; target vulkan:base allows 128}}
kernel.func @metadata(%0: i32, %1: i32, %2: i32, %3: i32, %4: i32, %5: i32, %6: i32, %7: i32, %8: i32, %9: i32, %10: i32,
                      %11: i32, %12: i32, %13: i32, %14: i32, %15: i32, %16: i32, %17: i32, %18: i32, %19: i32, %20: i32, %21: i32,
                      %22: i32, %23: i32, %24: i32, %25: i32, %26: i32, %27: i32, %28: i32, %29: i32, %30: i32, %31: i32, %32: i32)
    attributes {workgroup_size = array<i32: 64, 1, 1>} {
  kernel.return
}

// -----

kernel.func @no_pattern(%x: !kernel.buffer<i32, read_write>, %n: i32) attributes {workgroup_size = array<i32: 64, 1, 1>} {
  // expected-error @below {{failed to legalize operation 'math.ipowi'}}
  %0 = math.ipowi %n, %n : i32
  kernel.store %0, %x[%n] : !kernel.buffer<i32, read_write>
  kernel.return
}
