# Finds MLIR and offers the functions that the compiler half is built with.

find_package(MLIR 22.1 REQUIRED CONFIG
             HINTS /usr/lib/llvm-22/lib/cmake/mlir)
set(LLVM_DEFAULT_EXTERNAL_LIT "${LLVM_TOOLS_BINARY_DIR}/lit")
set(LLVM_RUNTIME_OUTPUT_INTDIR ${CMAKE_BINARY_DIR}/bin)
set(LLVM_LIBRARY_OUTPUT_INTDIR ${CMAKE_BINARY_DIR}/lib)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)
separate_arguments(LLVM_DEFINITIONS_LIST NATIVE_COMMAND ${LLVM_DEFINITIONS})

# What every target that includes MLIR headers needs.
add_library(poot-mlir INTERFACE)
target_include_directories(poot-mlir INTERFACE
  ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/include)
target_include_directories(poot-mlir SYSTEM INTERFACE
  ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
# Debian's LLVM is built with NDEBUG, and llvm::Statistic, which every pass with
# statistics holds, has other members without it: they would stay uninitialized.
target_compile_definitions(poot-mlir INTERFACE ${LLVM_DEFINITIONS_LIST} NDEBUG)
target_compile_options(poot-mlir INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions>)
# The two shared libraries. Naming single archives beside them would link
# second copies of their static state.
target_link_libraries(poot-mlir INTERFACE MLIR LLVM)

# One precompiled header for the whole compiler half.
file(WRITE ${CMAKE_BINARY_DIR}/poot-pch.cpp "// Owner of the precompiled header.\n")
add_library(poot-pch OBJECT ${CMAKE_BINARY_DIR}/poot-pch.cpp)
target_link_libraries(poot-pch PRIVATE poot-mlir)
target_precompile_headers(poot-pch PRIVATE
  <mlir/IR/Builders.h>
  <mlir/IR/BuiltinAttributes.h>
  <mlir/IR/BuiltinOps.h>
  <mlir/IR/BuiltinTypes.h>
  <mlir/IR/DialectImplementation.h>
  <mlir/IR/OpImplementation.h>
  <mlir/IR/PatternMatch.h>
  <mlir/IR/SymbolTable.h>
  <mlir/Dialect/Arith/IR/Arith.h>
  <mlir/Dialect/ControlFlow/IR/ControlFlowOps.h>
  <mlir/Dialect/Func/IR/FuncOps.h>
  <mlir/Dialect/Math/IR/Math.h>
  <mlir/Dialect/Vector/IR/VectorOps.h>
  <mlir/Pass/Pass.h>
  <mlir/Transforms/DialectConversion.h>
  <llvm/ADT/StringExtras.h>
  <llvm/ADT/TypeSwitch.h>)

# Uses the shared precompiled header in TARGET.
function(poot_use_pch target)
  target_precompile_headers(${target} REUSE_FROM poot-pch)
endfunction()

# poot_add_mlir_library(NAME SOURCES... [LIBS ...] [DEPENDS ...])
# A static library of the compiler half. DEPENDS names TableGen targets.
function(poot_add_mlir_library name)
  cmake_parse_arguments(ARG "" "" "LIBS;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC poot-mlir ${ARG_LIBS})
  # Generated headers of every dialect must exist before any file compiles.
  add_dependencies(${name} poot-headers ${ARG_DEPENDS})
  poot_use_pch(${name})
endfunction()

# poot_add_mlir_tool(NAME SOURCES... [LIBS ...]): an executable of the compiler half.
function(poot_add_mlir_tool name)
  cmake_parse_arguments(ARG "" "" "LIBS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE poot-mlir ${ARG_LIBS})
  add_dependencies(${name} poot-headers)
  # The precompiled header is built with -fPIC, an executable with -fPIE.
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${name} PRIVATE -fPIC)
  poot_use_pch(${name})
  install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endfunction()

# poot_add_mlir_test(NAME SOURCES... [LIBS ...]): a GoogleTest of the compiler half.
function(poot_add_mlir_test name)
  cmake_parse_arguments(ARG "" "" "LIBS;ENVIRONMENT" ${ARGN})
  poot_add_test(${name} SOURCES ${ARG_UNPARSED_ARGUMENTS}
                LIBS poot-mlir ${ARG_LIBS} ENVIRONMENT ${ARG_ENVIRONMENT})
  add_dependencies(${name} poot-headers)
endfunction()

# Every TableGen target adds itself to this one.
add_custom_target(poot-headers)
