// Every operation of KIR, there and back: the IR is equal, and with locations
// so is the JSON.
// RUN: %python %S/Inputs/every_op.py %source/kir/include/poot/kir/ops.def %s
// RUN: poot-opt %s -o %t.mlir
// RUN: poot-translate --kernel-to-kir-json %t.mlir -o %t.kir.json
// RUN: poot-translate --kir-json-to-kernel %t.kir.json | poot-opt -o %t.back.mlir
// RUN: diff %t.mlir %t.back.mlir
// RUN: poot-translate --kir-json-to-kernel --mlir-print-debuginfo %t.kir.json -o %t.locations.mlir
// RUN: poot-translate --kernel-to-kir-json %t.locations.mlir -o %t.again.kir.json
// RUN: diff %t.kir.json %t.again.kir.json

kernel.func @constants(%x: !kernel.buffer<f32, write>)
    attributes {workgroup_size = array<i32: 64, 2, 1>,
                kernel.attributes = {op = "silu", "what else" = "\22quoted\22"}} {
  %0 = arith.constant true
  %1 = arith.constant -128 : i8
  %2 = arith.constant 32767 : i16
  %3 = arith.constant -2147483648 : i32
  %4 = arith.constant 9223372036854775807 : i64
  %5 = arith.constant 3 : index
  %6 = arith.constant 0.1 : f16
  %7 = arith.constant 3.0e38 : bf16
  %8 = arith.constant 0.1 : f32
  %9 = arith.constant 0.1 : f64
  %10 = arith.constant -0.0 : f32
  %11 = arith.constant 0x7FC00001 : f32
  %12 = arith.constant 0xFF800000 : f32
  %13 = arith.constant 0x7FF0000000000000 : f64
  %14 = arith.constant dense<[1.0, 2.0, 3.0]> : vector<3xf16>
  %15 = arith.constant dense<7> : vector<8xi8>
  %16 = arith.constant dense<[true, false]> : vector<2xi1>
  %17 = arith.constant dense<[-1, 1]> : vector<2xi64>
  %18 = arith.constant dense<1> : vector<1xi32>
  %19 = kernel.constant_table dense<[1.0, 0x7F800000]> : tensor<2xf32> -> !kernel.table<2xf32>
  %20 = kernel.constant_table dense<-3> : tensor<100000xi16> -> !kernel.table<100000xi16>
  %21 = ub.poison : f32
  %22 = ub.poison : vector<4xi8>
  %23 = ub.poison : !kernel.fragment<16x16xf16, b>
  %24 = kernel.unwritten : i1
  %25 = kernel.unwritten : vector<2xf32>
  %26 = kernel.unwritten : !kernel.fragment<16x16xf32, accumulator>
  kernel.return
}

kernel.func @integers(%a: i32, %b: i32) attributes {workgroup_size = array<i32: 1, 1, 1>} {
  %0 = arith.addi %a, %b overflow<nsw> : i32
  %1 = arith.subi %a, %b overflow<nsw, nuw> : i32
  %2 = arith.muli %a, %b : i32
  %3 = arith.divsi %a, %b exact : i32
  %4 = arith.divui %a, %b : i32
  %5 = arith.remsi %a, %b : i32
  %6 = arith.remui %a, %b : i32
  %7 = arith.ceildivsi %a, %b : i32
  %8 = arith.ceildivui %a, %b : i32
  %9 = arith.floordivsi %a, %b : i32
  %10 = arith.andi %a, %b : i32
  %11 = arith.ori %a, %b : i32
  %12 = arith.xori %a, %b : i32
  %13 = arith.shli %a, %b overflow<nuw> : i32
  %14 = arith.shrsi %a, %b exact : i32
  %15 = arith.shrui %a, %b exact : i32
  %16 = arith.minsi %a, %b : i32
  %17 = arith.minui %a, %b : i32
  %18 = arith.maxsi %a, %b : i32
  %19 = arith.maxui %a, %b : i32
  %20, %21 = arith.mulsi_extended %a, %b : i32
  %22, %23 = arith.mului_extended %a, %b : i32
  %24, %25 = arith.addui_extended %a, %b : i32, i1
  %26 = math.absi %a : i32
  %27 = math.ctlz %a : i32
  %28 = math.cttz %a : i32
  %29 = math.ctpop %a : i32
  %30 = arith.cmpi eq, %a, %b : i32
  %31 = arith.cmpi ne, %a, %b : i32
  %32 = arith.cmpi slt, %a, %b : i32
  %33 = arith.cmpi sle, %a, %b : i32
  %34 = arith.cmpi sgt, %a, %b : i32
  %35 = arith.cmpi sge, %a, %b : i32
  %36 = arith.cmpi ult, %a, %b : i32
  %37 = arith.cmpi ule, %a, %b : i32
  %38 = arith.cmpi ugt, %a, %b : i32
  %39 = arith.cmpi uge, %a, %b : i32
  %40 = arith.extsi %a : i32 to i64
  %41 = arith.extui %30 : i1 to i8
  %42 = arith.trunci %a overflow<nsw> : i32 to i16
  %43 = arith.sitofp %a : i32 to f32
  %44 = arith.uitofp %a : i32 to f16
  %45 = arith.bitcast %a : i32 to f32
  %46 = arith.index_cast %a : i32 to index
  %47 = arith.index_castui %46 : index to i64
  %48 = arith.select %30, %a, %b : i32
  kernel.return
}

kernel.func @floats(%a: f32, %b: f32) attributes {workgroup_size = array<i32: 1, 1, 1>} {
  %0 = arith.addf %a, %b fastmath<contract> : f32
  %1 = arith.subf %a, %b fastmath<fast> : f32
  %2 = arith.mulf %a, %b fastmath<reassoc,nnan,ninf> : f32
  %3 = arith.divf %a, %b fastmath<nsz,arcp,afn> : f32
  %4 = arith.remf %a, %b : f32
  %5 = arith.negf %a : f32
  %6 = arith.maximumf %a, %b : f32
  %7 = arith.minimumf %a, %b : f32
  %8 = arith.maxnumf %a, %b : f32
  %9 = arith.minnumf %a, %b : f32
  %10 = arith.cmpf false, %a, %b : f32
  %11 = arith.cmpf oeq, %a, %b fastmath<nnan> : f32
  %12 = arith.cmpf ogt, %a, %b : f32
  %13 = arith.cmpf oge, %a, %b : f32
  %14 = arith.cmpf olt, %a, %b : f32
  %15 = arith.cmpf ole, %a, %b : f32
  %16 = arith.cmpf one, %a, %b : f32
  %17 = arith.cmpf ord, %a, %b : f32
  %18 = arith.cmpf ueq, %a, %b : f32
  %19 = arith.cmpf ugt, %a, %b : f32
  %20 = arith.cmpf uge, %a, %b : f32
  %21 = arith.cmpf ult, %a, %b : f32
  %22 = arith.cmpf ule, %a, %b : f32
  %23 = arith.cmpf une, %a, %b : f32
  %24 = arith.cmpf uno, %a, %b : f32
  %25 = arith.cmpf true, %a, %b : f32
  %26 = arith.extf %a : f32 to f64
  %27 = arith.truncf %26 to_nearest_even : f64 to bf16
  %28 = arith.truncf %a : f32 to f16
  %29 = arith.fptosi %a : f32 to i8
  %30 = arith.fptoui %a : f32 to i64
  %31 = math.absf %a : f32
  %32 = math.acos %a : f32
  %33 = math.acosh %a : f32
  %34 = math.asin %a : f32
  %35 = math.asinh %a : f32
  %36 = math.atan %a : f32
  %37 = math.atan2 %a, %b : f32
  %38 = math.atanh %a : f32
  %39 = math.cbrt %a : f32
  %40 = math.ceil %a : f32
  %41 = math.clampf %a to [%b, %a] : f32
  %42 = math.copysign %a, %b : f32
  %43 = math.cos %a : f32
  %44 = math.cosh %a : f32
  %45 = math.erf %a : f32
  %46 = math.erfc %a : f32
  %47 = math.exp %a fastmath<afn> : f32
  %48 = math.exp2 %a : f32
  %49 = math.expm1 %a : f32
  %50 = math.floor %a : f32
  %51 = math.fma %a, %b, %a : f32
  %52 = math.log %a : f32
  %53 = math.log10 %a : f32
  %54 = math.log1p %a : f32
  %55 = math.log2 %a : f32
  %56 = math.powf %a, %b : f32
  %57 = math.round %a : f32
  %58 = math.roundeven %a : f32
  %59 = math.rsqrt %a : f32
  %60 = math.sin %a : f32
  %61 = math.sinh %a : f32
  %62 = math.sqrt %a : f32
  %63 = math.tan %a : f32
  %64 = math.tanh %a : f32
  %65 = math.trunc %a : f32
  %66, %67 = math.sincos %a : f32
  %68 = math.isfinite %a : f32
  %69 = math.isinf %a : f32
  %70 = math.isnan %a : f32
  %71 = math.isnormal %a : f32
  kernel.return
}

kernel.func @vectors(%x: !kernel.buffer<vector<4xf32>, read>, %i: i32, %s: f32)
    attributes {workgroup_size = array<i32: 1, 1, 1>} {
  %v = kernel.load %x[%i] : !kernel.buffer<vector<4xf32>, read>
  %at = arith.index_castui %i : i32 to index
  %0 = vector.bitcast %v : vector<4xf32> to vector<8xf16>
  %1 = vector.broadcast %s : f32 to vector<4xf32>
  %2 = vector.extract %v[1] : f32 from vector<4xf32>
  %3 = vector.extract %v[%at] : f32 from vector<4xf32>
  %4 = vector.insert %s, %v[2] : f32 into vector<4xf32>
  %5 = vector.insert %s, %v[%at] : f32 into vector<4xf32>
  %6 = vector.from_elements %s, %s, %s : vector<3xf32>
  %7:4 = vector.to_elements %v : vector<4xf32>
  %8 = vector.shuffle %v, %6 [0, 6, -1, 2, 1] : vector<4xf32>, vector<3xf32>
  %9 = vector.interleave %v, %1 : vector<4xf32> -> vector<8xf32>
  %10, %11 = vector.deinterleave %9 : vector<8xf32> -> vector<4xf32>
  %12 = vector.extract_strided_slice %9 {offsets = [2], sizes = [4], strides = [1]} : vector<8xf32> to vector<4xf32>
  %13 = vector.insert_strided_slice %12, %9 {offsets = [3], strides = [1]} : vector<4xf32> into vector<8xf32>
  %14 = vector.fma %v, %v, %v : vector<4xf32>
  %15 = vector.reduction <add>, %v fastmath<reassoc> : vector<4xf32> into f32
  %16 = vector.reduction <maximumf>, %v, %s : vector<4xf32> into f32
  %17 = arith.cmpf olt, %v, %1 : vector<4xf32>
  %18 = arith.select %17, %v, %1 : vector<4xi1>, vector<4xf32>
  kernel.return
}

kernel.func @control(%n: i32, %s: f32) attributes {workgroup_size = array<i32: 1, 1, 1>} {
  %zero = arith.constant 0 : i32
  %0 = arith.cmpi slt, %n, %zero : i32
  cf.cond_br %0 weights([3, 1]), ^loop(%zero, %s : i32, f32), ^end
^loop(%i: i32, %v: f32):
  kernel.loop_hint unroll_full
  kernel.loop_hint nounroll
  kernel.loop_hint unroll times 4
  cf.switch %i : i32, [
    default: ^loop(%n, %s : i32, f32),
    -1: ^late(%v : f32),
    2147483647: ^end
  ]
^early(%e: f32):
  // Stands before the block that defines %d, and after it in the flow.
  %1 = arith.addf %e, %d : f32
  cf.br ^end
^late(%l: f32):
  %d = arith.mulf %l, %l : f32
  cf.br ^early(%l : f32)
^end:
  cf.cond_br %0, ^never, ^return
^never:
  ub.unreachable
^return:
  cf.switch %n : i32, [
    default: ^last
  ]
^last:
  kernel.return
}

kernel.func private @memory(%x: !kernel.buffer<f32, read>, %y: !kernel.buffer<vector<2xf16>, write>,
    %s: !kernel.buffer<!kernel.struct<16: f32 at 0, i32 at 4, f16 x 4 at 8>, read_write>,
    %a: !kernel.buffer<i32, read_write>, %w: !kernel.buffer<i64, read_write>, %i: i32, %f: f32)
    attributes {workgroup_size = array<i32: 65535, 1, 1>} {
  %tile = kernel.workgroup_alloc : !kernel.workgroup<256xf32>
  %sums = kernel.workgroup_alloc overlays(%tile : !kernel.workgroup<256xf32>) : !kernel.workgroup<4xvector<2xf32>>
  %0 = kernel.load %x[%i] : !kernel.buffer<f32, read>
  kernel.store %0, %tile[%i] : !kernel.workgroup<256xf32>
  kernel.barrier
  %1 = kernel.load %s[%i] leaf 0 : !kernel.buffer<!kernel.struct<16: f32 at 0, i32 at 4, f16 x 4 at 8>, read_write>
  %2 = kernel.load %s[%i] leaf 2[%i] : !kernel.buffer<!kernel.struct<16: f32 at 0, i32 at 4, f16 x 4 at 8>, read_write>
  kernel.store %i, %s[%i] leaf 1 : !kernel.buffer<!kernel.struct<16: f32 at 0, i32 at 4, f16 x 4 at 8>, read_write>
  kernel.store %2, %s[%i] leaf 2[%i] : !kernel.buffer<!kernel.struct<16: f32 at 0, i32 at 4, f16 x 4 at 8>, read_write>
  %3 = kernel.atomic_rmw add relaxed subgroup %a[%i], %i : !kernel.buffer<i32, read_write>
  %4 = kernel.atomic_rmw min acquire workgroup %a[%i], %i : !kernel.buffer<i32, read_write>
  %5 = kernel.atomic_rmw max release device %a[%i], %i : !kernel.buffer<i32, read_write>
  %6 = kernel.atomic_rmw umin acq_rel device %a[%i], %i : !kernel.buffer<i32, read_write>
  %7 = kernel.atomic_rmw umax relaxed device %a[%i], %i : !kernel.buffer<i32, read_write>
  %8 = kernel.atomic_rmw and relaxed device %a[%i], %i : !kernel.buffer<i32, read_write>
  %9 = kernel.atomic_rmw or relaxed device %a[%i], %i : !kernel.buffer<i32, read_write>
  %10 = kernel.atomic_rmw xor relaxed device %a[%i], %i : !kernel.buffer<i32, read_write>
  %11 = kernel.atomic_rmw exchange relaxed device %tile[%i], %f : !kernel.workgroup<256xf32>
  %12 = kernel.atomic_load acquire device %w[%i] : !kernel.buffer<i64, read_write>
  kernel.atomic_store release device %w[%i], %12 : !kernel.buffer<i64, read_write>
  %13 = kernel.atomic_cas acq_rel workgroup %w[%i], %12, %12 : !kernel.buffer<i64, read_write>
  %var = kernel.var : !kernel.var<f32>
  %array = kernel.var : !kernel.var<2x3xvector<16xf32>>
  kernel.var_store %f, %var[] : !kernel.var<f32>
  %14 = kernel.var_load %array[%i, %i] : !kernel.var<2x3xvector<16xf32>>
  kernel.var_store %14, %array[%i, %i] : !kernel.var<2x3xvector<16xf32>>
  %15 = kernel.var_load %var[] : !kernel.var<f32>
  kernel.return
}

kernel.func @subgroups(%i: i32, %f: f32) attributes {workgroup_size = array<i32: 32, 1, 1>} {
  %0 = kernel.local_id x
  %1 = kernel.workgroup_id y
  %2 = kernel.num_workgroups z
  %3 = kernel.lane_id
  %4 = kernel.subgroup_id
  %5 = kernel.subgroup_size
  %6 = kernel.subgroup_reduce add %f : f32
  %7 = kernel.subgroup_reduce mul %f : f32
  %8 = kernel.subgroup_reduce min %f : f32
  %9 = kernel.subgroup_reduce max %f : f32
  %10 = kernel.subgroup_reduce umin %i : i32
  %11 = kernel.subgroup_reduce umax %i : i32
  %12 = kernel.subgroup_scan inclusive %f : f32
  %13 = kernel.subgroup_scan exclusive %i : i32
  %14 = kernel.subgroup_shuffle idx %f, %i : f32
  %15 = kernel.subgroup_shuffle xor %f, %i : f32
  %16 = kernel.subgroup_shuffle up %f, %i : f32
  %17 = kernel.subgroup_shuffle down %f, %i : f32
  %18 = kernel.subgroup_broadcast %f, %i : f32
  %19 = arith.cmpi eq, %i, %0 : i32
  %20 = kernel.subgroup_any %19
  %21 = kernel.subgroup_all %20
  kernel.return
}

kernel.func @fragments(%x: !kernel.buffer<f16, read>, %y: !kernel.buffer<f32, write>, %i: i32, %s: f32)
    attributes {workgroup_size = array<i32: 32, 1, 1>} {
  %c = kernel.fragment_fill %s : !kernel.fragment<16x16xf32, accumulator>
  %a = kernel.fragment_load row %x[%i], %i : !kernel.buffer<f16, read> -> !kernel.fragment<16x16xf16, a>
  %b = kernel.fragment_load column %x[%i], %i : !kernel.buffer<f16, read> -> !kernel.fragment<16x16xf16, b>
  %d = kernel.fragment_mma %a, %b, %c : !kernel.fragment<16x16xf16, a>, !kernel.fragment<16x16xf16, b> -> !kernel.fragment<16x16xf32, accumulator>
  kernel.fragment_store row %d, %y[%i], %i : !kernel.fragment<16x16xf32, accumulator>, !kernel.buffer<f32, write>
  %v = kernel.var : !kernel.var<2x!kernel.fragment<16x16xf16, a>>
  kernel.var_store %a, %v[%i] : !kernel.var<2x!kernel.fragment<16x16xf16, a>>
  kernel.return
}

kernel.hook_body private @identity(%row: i32, %v: vector<2xf32>) -> vector<2xf32> {
  %0 = kernel.hook "inner"(%v) default @twice : (vector<2xf32>) -> vector<2xf32>
  kernel.yield %0 : vector<2xf32>
}

kernel.func @hooks(%x: !kernel.buffer<f32, write>, %row: i32, %s: f32)
    attributes {workgroup_size = array<i32: 1, 1, 1>, kernel.fill = {epilogue = @identity}} {
  %d = kernel.spec_constant "head_dim" = 64 : i32
  %e = kernel.spec_constant "scale" = 0.125 : f32
  %f = kernel.spec_constant "causal" = false
  %v = vector.broadcast %s : f32 to vector<2xf32>
  %0 = kernel.hook "epilogue"(%row, %v) default @identity : (i32, vector<2xf32>) -> vector<2xf32>
  kernel.hook "store"(%x, %row, %s) default @store : (!kernel.buffer<f32, write>, i32, f32) -> ()
  kernel.return
}

kernel.hook_body @twice(%v: vector<2xf32>) -> vector<2xf32> {
  %0 = arith.addf %v, %v : vector<2xf32>
  kernel.yield %0 : vector<2xf32>
}

kernel.hook_body @store(%x: !kernel.buffer<f32, write>, %i: i32, %s: f32) {
  kernel.store %s, %x[%i] : !kernel.buffer<f32, write>
  kernel.yield
}
