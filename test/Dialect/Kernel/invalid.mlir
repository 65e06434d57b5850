// RUN: poot-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{element type 'i1' is none of i8, i16, i32, i64, f16, bf16, f32, f64 and vectors of 2 or 4 of them}}
kernel.func @element(%x: !kernel.buffer<i1, read>) attributes {workgroup_size = array<i32: 1, 1, 1>} {
  kernel.return
}

// -----

// expected-error @below {{element type 'vector<3xf32>' is none of}}
kernel.func @vector_of_3(%x: !kernel.buffer<vector<3xf32>, read>) attributes {workgroup_size = array<i32: 1, 1, 1>} {
  kernel.return
}

// -----

kernel.func @no_extent() attributes {workgroup_size = array<i32: 1, 1, 1>} {
  // expected-error @below {{workgroup array of 0 elements; allowed are 1 to 2147483647}}
  %0 = kernel.workgroup_alloc : !kernel.workgroup<0xf32>
  kernel.return
}

// -----

kernel.func @two_extents() attributes {workgroup_size = array<i32: 1, 1, 1>} {
  // expected-error @below {{expected one extent, as in `<64xf32>`}}
  %0 = kernel.workgroup_alloc : !kernel.workgroup<4x4xf32>
  kernel.return
}

// -----

// expected-error @below {{has no body; a kernel can't be declared only}}
kernel.func @declared() attributes {workgroup_size = array<i32: 1, 1, 1>}

// -----

// expected-error @below {{has results; a kernel returns nothing}}
kernel.func @result() -> i32 attributes {workgroup_size = array<i32: 1, 1, 1>} {
  kernel.return
}

// -----

// expected-error @below {{'workgroup_size' has 2 entries; it needs 3: x, y, z}}
kernel.func @two_sizes() attributes {workgroup_size = array<i32: 1, 1>} {
  kernel.return
}

// -----

// expected-error @below {{'workgroup_size' has the entry 0; allowed are 1 to 65535}}
kernel.func @no_size() attributes {workgroup_size = array<i32: 1, 0, 1>} {
  kernel.return
}

// -----

// expected-error @below {{requires attribute 'workgroup_size'}}
kernel.func @missing_size() {
  kernel.return
}

// -----

// expected-error @below {{argument #1 is a buffer after metadata; buffers come first}}
kernel.func @order(%n: i32, %x: !kernel.buffer<f32, read>) attributes {workgroup_size = array<i32: 1, 1, 1>} {
  kernel.return
}

// -----

// expected-error @below {{argument #0 has type 'i64'; allowed are !kernel.buffer, then i32 and f32}}
kernel.func @metadata(%n: i64) attributes {workgroup_size = array<i32: 1, 1, 1>} {
  kernel.return
}

// -----

kernel.func @load(%x: !kernel.buffer<f32, write>, %i: i32) attributes {workgroup_size = array<i32: 1, 1, 1>} {
  // expected-error @below {{reads from '!kernel.buffer<f32, write>'; its access must be read or read_write}}
  %0 = kernel.load %x[%i] : !kernel.buffer<f32, write>
  kernel.return
}

// -----

kernel.func @store(%x: !kernel.buffer<i32, read>, %i: i32) attributes {workgroup_size = array<i32: 1, 1, 1>} {
  // expected-error @below {{writes to '!kernel.buffer<i32, read>'; its access must be write or read_write}}
  kernel.store %i, %x[%i] : !kernel.buffer<i32, read>
  kernel.return
}

// -----

kernel.func @store_type(%x: !kernel.buffer<f32, write>, %i: i32) attributes {workgroup_size = array<i32: 1, 1, 1>} {
  // expected-error @below {{stores 'i32'; the element is 'f32'}}
  "kernel.store"(%i, %x, %i) : (i32, !kernel.buffer<f32, write>, i32) -> ()
  kernel.return
}

// -----

kernel.func @load_index(%x: !kernel.buffer<f32, read>) attributes {workgroup_size = array<i32: 1, 1, 1>} {
  %i = arith.constant 0 : i64
  // expected-error @below {{operand #1 must be 32-bit signless integer, but got 'i64'}}
  %0 = "kernel.load"(%x, %i) : (!kernel.buffer<f32, read>, i64) -> f32
  kernel.return
}

// -----

kernel.func @atomic(%x: !kernel.buffer<i32, write>, %i: i32) attributes {workgroup_size = array<i32: 1, 1, 1>} {
  // expected-error @below {{reads from '!kernel.buffer<i32, write>'; its access must be read or read_write}}
  %0 = kernel.atomic_rmw add relaxed device %x[%i], %i : !kernel.buffer<i32, write>
  kernel.return
}

// -----

kernel.func @atomic_type(%x: !kernel.buffer<f32, read_write>, %i: i32) attributes {workgroup_size = array<i32: 1, 1, 1>} {
  // expected-error @below {{type of 'value' is the element type of 'memory'}}
  %0 = "kernel.atomic_rmw"(%x, %i, %i) {kind = #kernel<atomic_kind add>, order = #kernel<order relaxed>, scope = #kernel<scope device>} : (!kernel.buffer<f32, read_write>, i32, i32) -> i32
  kernel.return
}

// -----

kernel.func @alloc_in_branch(%n: i32) attributes {workgroup_size = array<i32: 1, 1, 1>} {
  cf.br ^next
^next:
  // expected-error @below {{must stand in the entry block of a kernel.func}}
  %0 = kernel.workgroup_alloc : !kernel.workgroup<4xf32>
  kernel.return
}

// -----

kernel.func @reduce(%s: f32) attributes {workgroup_size = array<i32: 1, 1, 1>} {
  // expected-error @below {{'umin' takes integers; for floating point use min or max}}
  %0 = kernel.subgroup_reduce umin %s : f32
  kernel.return
}

// -----

func.func @elsewhere() {
  // expected-error @below {{expects parent op 'kernel.func'}}
  kernel.return
}
