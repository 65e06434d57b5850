// Kernels of the user's on views, literals, half types and integers give
// what the oracle gives, on a Vulkan device and in the interpreter; so say the
// test vectors of the bundle, too.
//
// DEFINE: %{files} = --kernel my_silu.kir.json --kernel my_sub.mlir \
// DEFINE:   --kernel my_sub_i32.kir.json --kernel my_softmax.kir.json \
// DEFINE:   --kernel my_norm.kir.json
// DEFINE: %{inputs} = --input=x=../x.npy --input=h=../h.npy \
// DEFINE:   --input=s=../s.npy --input=i=../i.npy
// DEFINE: %{outputs} = --output=a=a.npy --output=b=b.npy --output=c=c.npy \
// DEFINE:   --output=d=d.npy --output=e=e.npy
// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: pootc -std=c++20 -fsyntax-only %S/Inputs/user_kernels.cpp \
// RUN:   --emit=kir-json,mlir
// RUN: poot-compile %s %{files} --target vulkan,interp -o m.poot
// RUN: poot-compile %s %{files} --print-plan | FileCheck %s
// RUN: poot-run m.poot --self-check --device vulkan
// RUN: poot-run m.poot --self-check --device interp --sanitize
// RUN: %python %S/Inputs/user_kernels.py make
// RUN: mkdir oracle vulkan interp
// RUN: cd oracle && poot-eval %s %{inputs} %{outputs}
// RUN: cd ../vulkan
// RUN: poot-run ../m.poot --entry main --device vulkan %{inputs} %{outputs}
// RUN: cd ../interp
// RUN: poot-run ../m.poot --entry main --device interp %{inputs} %{outputs}
// RUN: cd .. && %python %S/Inputs/user_kernels.py compare oracle vulkan interp

// Each is there, and nothing of what they implement is left.
// CHECK: my_sub_f32_5x65 {{.*}} slot:x
// CHECK: my_silu_f32_5x65 {{.*}} =output:a
// CHECK: my_silu_f16_65x5 {{.*}} slot:h =output:b
// CHECK: my_softmax_f32_5x65
// CHECK: my_norm_f16_65x5
// CHECK: my_sub_i32_i32_3 {{.*}} slot:i =output:e
// CHECK-NOT: {{^ +[0-9]+ +(exp|div|sub|softmax|rms_norm)_}}
func.func @main(%x: tensor<65x5xf32> {graph.name = "x"}, %h: tensor<65x5xf16> {graph.name = "h"},
                %s: tensor<5xf32> {graph.name = "s"}, %i: tensor<3xi32> {graph.name = "i"})
    -> (tensor<5x65xf32> {graph.name = "a"}, tensor<65x5xf16> {graph.name = "b"},
        tensor<5x65xf32> {graph.name = "c"}, tensor<65x5xf16> {graph.name = "d"},
        tensor<3xi32> {graph.name = "e"}) {
  // Of two views of one buffer.
  %t = graph.transpose %x [1, 0] : tensor<65x5xf32> -> tensor<5x65xf32>
  %r = graph.reshape %x : tensor<65x5xf32> -> tensor<5x65xf32>
  %d = graph.binary sub %t, %r : tensor<5x65xf32>
  %one = graph.constant dense<1.0> : tensor<5x65xf32>
  %0 = graph.unary neg %d : tensor<5x65xf32>
  %1 = graph.unary exp %0 : tensor<5x65xf32>
  %2 = graph.binary add %1, %one : tensor<5x65xf32>
  %a = graph.binary div %d, %2 : tensor<5x65xf32>

  // In f32, of f16.
  %wide = graph.cast %h : tensor<65x5xf16> -> tensor<65x5xf32>
  %ones = graph.constant dense<1.0> : tensor<65x5xf32>
  %3 = graph.unary neg %wide : tensor<65x5xf32>
  %4 = graph.unary exp %3 : tensor<65x5xf32>
  %5 = graph.binary add %4, %ones : tensor<65x5xf32>
  %6 = graph.binary div %wide, %5 : tensor<65x5xf32>
  %b = graph.cast %6 : tensor<65x5xf32> -> tensor<65x5xf16>

  // Rows that lie along columns.
  %c = graph.softmax %t : tensor<5x65xf32>
  %d2 = graph.rms_norm %h scale %s epsilon 0.25 : tensor<65x5xf16>, tensor<5xf32>

  // Of a literal.
  %seven = graph.constant dense<7> : tensor<3xi32>
  %e = graph.binary sub %seven, %i : tensor<3xi32>
  return %a, %b, %c, %d2, %e : tensor<5x65xf32>, tensor<65x5xf16>, tensor<5x65xf32>, tensor<65x5xf16>, tensor<3xi32>
}
