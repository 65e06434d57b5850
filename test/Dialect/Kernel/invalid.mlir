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

// -----

// expected-error @below {{leaf 'f32' at 2 overlaps the one before it, lies beyond the structure or isn't aligned to 4}}
// expected-error @below {{failed to parse Kernel_Buffer parameter 'elementType'}}
kernel.func @leaf(%x: !kernel.buffer<!kernel.struct<8: i16 at 0, f32 at 2>, read>) attributes {workgroup_size = array<i32: 1, 1, 1>} {
  kernel.return
}

// -----

// expected-error @below {{leaf 'f32' at 9223372036854775804 overlaps the one before it, lies beyond the structure or isn't aligned to 4}}
// expected-error @below {{failed to parse Kernel_Buffer parameter 'elementType'}}
kernel.func @far_leaf(%x: !kernel.buffer<!kernel.struct<8: f32 at 9223372036854775804>, read>) attributes {workgroup_size = array<i32: 1, 1, 1>} {
  kernel.return
}

// -----

// expected-error @below {{leaves end at 12, beyond the size 8}}
// expected-error @below {{failed to parse Kernel_Buffer parameter 'elementType'}}
kernel.func @long(%x: !kernel.buffer<!kernel.struct<8: f32 x 3 at 0>, read>) attributes {workgroup_size = array<i32: 1, 1, 1>} {
  kernel.return
}

// -----

// expected-error @below {{size 6 isn't a multiple of leaf 'f32'}}
// expected-error @below {{failed to parse Kernel_Buffer parameter 'elementType'}}
kernel.func @size(%x: !kernel.buffer<!kernel.struct<6: f32 at 0>, read>) attributes {workgroup_size = array<i32: 1, 1, 1>} {
  kernel.return
}

// -----

// expected-error @below {{structure of 0 bytes; allowed are 1 to 2147483647}}
// expected-error @below {{failed to parse Kernel_Buffer parameter 'elementType'}}
kernel.func @empty(%x: !kernel.buffer<!kernel.struct<0: f32 at 0>, read>) attributes {workgroup_size = array<i32: 1, 1, 1>} {
  kernel.return
}

// -----

// expected-error @below {{leaf of 0 elements; allowed are 1 to 2147483647}}
// expected-error @below {{failed to parse Kernel_Buffer parameter 'elementType'}}
kernel.func @count(%x: !kernel.buffer<!kernel.struct<4: f32 x 0 at 0>, read>) attributes {workgroup_size = array<i32: 1, 1, 1>} {
  kernel.return
}

// -----

kernel.func @leafless(%x: !kernel.buffer<f32, read>, %i: i32) attributes {workgroup_size = array<i32: 1, 1, 1>} {
  // expected-error @below {{memory has no such leaf}}
  %0 = kernel.load %x[%i] leaf 0 : !kernel.buffer<f32, read>
  kernel.return
}

// -----

kernel.func @array_leaf(%x: !kernel.buffer<!kernel.struct<8: f32 x 2 at 0>, read>, %i: i32) attributes {workgroup_size = array<i32: 1, 1, 1>} {
  // expected-error @below {{leaf 0 is an array: an element is needed}}
  %0 = kernel.load %x[%i] leaf 0 : !kernel.buffer<!kernel.struct<8: f32 x 2 at 0>, read>
  kernel.return
}

// -----

kernel.func @scalar_leaf(%x: !kernel.buffer<!kernel.struct<4: f32 at 0>, write>, %i: i32, %v: f32) attributes {workgroup_size = array<i32: 1, 1, 1>} {
  // expected-error @below {{leaf 0 is no array: an element can't be named}}
  kernel.store %v, %x[%i] leaf 0[%i] : !kernel.buffer<!kernel.struct<4: f32 at 0>, write>
  kernel.return
}

// -----

kernel.func @no_leaf(%x: !kernel.buffer<!kernel.struct<4: f32 at 0>, write>, %i: i32, %v: f32) attributes {workgroup_size = array<i32: 1, 1, 1>} {
  // expected-error @below {{'!kernel.buffer<!kernel.struct<4: f32 at 0>, write>' has no such element}}
  kernel.store %v, %x[%i] leaf 1 : !kernel.buffer<!kernel.struct<4: f32 at 0>, write>
  kernel.return
}

// -----

kernel.func @table_type() attributes {workgroup_size = array<i32: 1, 1, 1>} {
  // expected-error @below {{has the value of type 'tensor<2xf32>' for '!kernel.table<3xf32>'}}
  %0 = kernel.constant_table dense<0.0> : tensor<2xf32> -> !kernel.table<3xf32>
  kernel.return
}

// -----

kernel.func @table_resource() attributes {workgroup_size = array<i32: 1, 1, 1>} {
  // expected-error @below {{takes its elements as dense<...> only}}
  %0 = kernel.constant_table dense_resource<none> : tensor<2xf32> -> !kernel.table<2xf32>
  kernel.return
}

// -----

kernel.func @table_element() attributes {workgroup_size = array<i32: 1, 1, 1>} {
  // expected-error @below {{a table holds scalars, not 'vector<2xf32>'}}
  %0 = kernel.constant_table dense<0.0> : tensor<2x2xf32> -> !kernel.table<2xvector<2xf32>>
  kernel.return
}

// -----

kernel.func @var_size() attributes {workgroup_size = array<i32: 1, 1, 1>} {
  // expected-error @below {{an extent of 65536; a variable has 1 to 2147483647 elements}}
  %0 = kernel.var : !kernel.var<65536x65536xf32>
  kernel.return
}

// -----

kernel.func @var_element() attributes {workgroup_size = array<i32: 1, 1, 1>} {
  // expected-error @below {{a variable can't hold 'index'}}
  %0 = kernel.var : !kernel.var<index>
  kernel.return
}

// -----

kernel.func @var_vector() attributes {workgroup_size = array<i32: 1, 1, 1>} {
  // expected-error @below {{a vector of a variable has one extent}}
  %0 = kernel.var : !kernel.var<vector<2x2xf32>>
  kernel.return
}

// -----

kernel.func @var_indices(%i: i32) attributes {workgroup_size = array<i32: 1, 1, 1>} {
  %0 = kernel.var : !kernel.var<4x4xf32>
  // expected-error @below {{has 1 indices for '!kernel.var<4x4xf32>', which takes 2}}
  %1 = kernel.var_load %0[%i] : !kernel.var<4x4xf32>
  kernel.return
}

// -----

kernel.func @var_in_branch() attributes {workgroup_size = array<i32: 1, 1, 1>} {
  cf.br ^next
^next:
  // expected-error @below {{must stand in the entry block of a kernel.func or kernel.hook_body}}
  %0 = kernel.var : !kernel.var<f32>
  kernel.return
}

// -----

kernel.func @overlays(%n: i32) attributes {workgroup_size = array<i32: 1, 1, 1>} {
  // expected-error @below {{operand #0 must be variadic of array that the invocations of a workgroup share}}
  %0 = "kernel.workgroup_alloc"(%n) : (i32) -> !kernel.workgroup<4xf32>
  kernel.return
}

// -----

kernel.func @float_or(%x: !kernel.buffer<f32, read_write>, %i: i32, %v: f32) attributes {workgroup_size = array<i32: 1, 1, 1>} {
  // expected-error @below {{'or' takes integers; f32 has add, min, max and exchange}}
  %0 = kernel.atomic_rmw or relaxed device %x[%i], %v : !kernel.buffer<f32, read_write>
  kernel.return
}

// -----

kernel.func @float_cas(%x: !kernel.buffer<f32, read_write>, %i: i32, %v: f32) attributes {workgroup_size = array<i32: 1, 1, 1>} {
  // expected-error @below {{compares integers; reinterpret the f32 as i32}}
  %0 = kernel.atomic_cas relaxed device %x[%i], %v, %v : !kernel.buffer<f32, read_write>
  kernel.return
}

// -----

kernel.func @load_order(%x: !kernel.buffer<i32, read_write>, %i: i32) attributes {workgroup_size = array<i32: 1, 1, 1>} {
  // expected-error @below {{has the order 'release'; a load is relaxed or acquire}}
  %0 = kernel.atomic_load release device %x[%i] : !kernel.buffer<i32, read_write>
  kernel.return
}

// -----

kernel.func @store_order(%x: !kernel.buffer<i32, read_write>, %i: i32) attributes {workgroup_size = array<i32: 1, 1, 1>} {
  // expected-error @below {{has the order 'acq_rel'; a store is relaxed or release}}
  kernel.atomic_store acq_rel device %x[%i], %i : !kernel.buffer<i32, read_write>
  kernel.return
}

// -----

kernel.func @hint() attributes {workgroup_size = array<i32: 1, 1, 1>} {
  // expected-error @below {{'unroll' takes a count of at least 2, the others none}}
  kernel.loop_hint unroll times 1
  kernel.return
}

// -----

kernel.func @no_body(%i: i32) attributes {workgroup_size = array<i32: 1, 1, 1>} {
  // expected-error @below {{has the default @none, which is no kernel.hook_body}}
  kernel.hook "effect"(%i) default @none : (i32) -> ()
  kernel.return
}

// -----

kernel.hook_body @id(%v: f32) -> f32 {
  kernel.yield %v : f32
}
kernel.func @hook_type(%i: i32) attributes {workgroup_size = array<i32: 1, 1, 1>} {
  // expected-error @below {{has the type '(i32) -> i32', but its default '(f32) -> f32'}}
  %0 = kernel.hook "value"(%i) default @id : (i32) -> i32
  kernel.return
}

// -----

kernel.hook_body @yield(%v: f32) -> i32 {
  // expected-error @below {{yields other types than its kernel.hook_body gives}}
  kernel.yield %v : f32
}

// -----

// expected-error @below {{takes 'tensor<2xf32>'; allowed are scalars, vectors, buffers and workgroup arrays}}
kernel.hook_body @takes(%v: tensor<2xf32>) {
  kernel.yield
}

// -----

// expected-error @below {{gives '!kernel.buffer<f32, read>'; allowed are scalars and vectors}}
kernel.hook_body @gives(%v: !kernel.buffer<f32, read>) -> !kernel.buffer<f32, read> {
  kernel.yield %v : !kernel.buffer<f32, read>
}

// -----

kernel.func @fragment_extent(%s: f32) attributes {workgroup_size = array<i32: 32, 1, 1>} {
  // expected-error @below {{a fragment of 12x16; its extents are 8, 16 or 32}}
  %0 = kernel.fragment_fill %s : !kernel.fragment<12x16xf32, a>
  kernel.return
}

// -----

kernel.func @fragment_use(%s: f32) attributes {workgroup_size = array<i32: 32, 1, 1>} {
  // expected-error @below {{with a use of a, b or accumulator}}
  %0 = kernel.fragment_fill %s : !kernel.fragment<16x16xf32, c>
  kernel.return
}

// -----

kernel.func @fragment_memory(%x: !kernel.buffer<f16, read>, %i: i32) attributes {workgroup_size = array<i32: 32, 1, 1>} {
  // expected-error @below {{the element types differ}}
  %0 = kernel.fragment_load row %x[%i], %i : !kernel.buffer<f16, read> -> !kernel.fragment<16x16xf32, a>
  kernel.return
}

// -----

kernel.func @fragment_shape(%s: f32) attributes {workgroup_size = array<i32: 32, 1, 1>} {
  %a = kernel.fragment_fill %s : !kernel.fragment<16x8xf32, a>
  %b = kernel.fragment_fill %s : !kernel.fragment<16x16xf32, b>
  %c = kernel.fragment_fill %s : !kernel.fragment<16x16xf32, accumulator>
  // expected-error @below {{multiplies '!kernel.fragment<16x8xf32, a>' and '!kernel.fragment<16x16xf32, b>' into '!kernel.fragment<16x16xf32, accumulator>'}}
  %d = kernel.fragment_mma %a, %b, %c : !kernel.fragment<16x8xf32, a>, !kernel.fragment<16x16xf32, b> -> !kernel.fragment<16x16xf32, accumulator>
  kernel.return
}
