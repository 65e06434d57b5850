// Kernels of C++ become a bundle, and run by themselves on a device and in the
// interpreter: hooks take their defaults, constants are given or have theirs.
//
// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: pootc -std=c++20 -fsyntax-only %s
// RUN: poot-compile shift.kir.json -o shift.poot
// RUN: poot-run shift.poot --info | FileCheck %s --check-prefix=INFO
// INFO: target vulkan:f16
// INFO-NEXT: requires storage8
// INFO: target interp
// INFO-NEXT: requires nothing beyond the baseline

// Names and numbers of buffers, elements that are no whole words, a buffer that
// is written in part, a hook, a constant.
//
// DEFINE: %{run} = --kernel shift --grid 3 --metadata -3
// DEFINE: %{named} = --input x=random:7:5 --input y=zeros:5 \
// DEFINE:   --input pairs=zeros:3
// DEFINE: %{numbers} = --input 0=zeros:5 --input 1=zeros:5 --input 2=zeros:3
//
// RUN: poot-run shift.poot %{run} %{named} --device vulkan > vulkan
// RUN: poot-run shift.poot %{run} %{named} --device interp > interp
// RUN: poot-run --interpret shift.poot %{run} %{named} > interpreted
// RUN: FileCheck %s --check-prefix=OUT < vulkan
// RUN: diff vulkan interp
// RUN: diff vulkan interpreted
// OUT: y (i8): 84 1 43 0 0{{$}}
// OUT: pairs (structures of 8 bytes): 0 0 0 0 0 0 0 0 1 0 0 0 0 0 128 63 ...

// RUN: poot-compile shift.kir.json --spec offset=40 -o spec.poot
// RUN: poot-run spec.poot %{run} %{numbers} --device vulkan \
// RUN:   | FileCheck %s --check-prefix=SPEC
// RUN: poot-run spec.poot %{run} %{numbers} --device interp \
// RUN:   | FileCheck %s --check-prefix=SPEC
// SPEC: y (i8): 37 37 37 0 0{{$}}
// RUN: not poot-compile shift.kir.json --spec offset=1.5 -o no.poot 2>&1 \
// RUN:   | FileCheck %s --check-prefix=TYPE
// TYPE: kernel-bundle.cpp:{{.*}}: error: specialization constant 'offset'
// TYPE-SAME: of type 'i32' can't be '1.5'

// The same from the kernel dialect, whose text has names with its locations;
// what vulkan:base lacks is said.
//
// RUN: poot-translate --kir-json-to-kernel shift.kir.json -o shift.mlir
// RUN: poot-compile shift.mlir -o again.poot
// RUN: poot-run again.poot %{run} %{numbers} --device vulkan \
// RUN:   | FileCheck %s --check-prefix=NUMBERS
// NUMBERS: buffer 1 (i8): -3 -3 -3 0 0{{$}}
// RUN: not poot-compile shift.kir.json --target vulkan:base -o no.poot 2>&1 \
// RUN:   | FileCheck %s --check-prefix=BASE
// BASE: kernel-bundle.cpp:{{.*}}error: {{.*}}i8, {{.*}}which target vulkan:base
// BASE-SAME: doesn't have; allowed are i1, i32, f32

// A target alone is for its devices alone.
//
// RUN: poot-compile shift.kir.json --target interp -o interp.poot
// RUN: not poot-run interp.poot %{run} %{numbers} 2>&1 \
// RUN:   | FileCheck %s --check-prefix=FIT
// FIT: poot-run: error: interp.poot: no target fits vulkan:0 {{.*}}; 'interp'
// FIT-SAME: holds no code for vulkan devices

#include "poot/kernel.h"

struct Pair {
  int32_t n;
  float v;
};

POOT_SPEC inline int32_t offset = 0;

POOT_HOOK("finish") inline int32_t finish(int32_t v) { return v + offset; }

POOT_KERNEL POOT_WORKGROUP_SIZE(1, 1,
                                1) void shift(poot::buffer<const int8_t> x,
                                              poot::buffer<int8_t> y, int32_t n,
                                              poot::buffer<Pair> pairs) {
  uint32_t i = poot::global_id();
  y[i] = int8_t(finish(x[i] + n));
  pairs[i] = {int32_t(i), float(i)};
}
