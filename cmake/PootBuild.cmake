# Flags and helper functions that every part of poot shares.

if(CMAKE_CXX_COMPILER_ID MATCHES "Clang|GNU")
  add_compile_options(-Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  add_compile_options(-Wno-nested-anon-types -Wno-deprecated-declarations)
  # Precompiled headers carry no time stamp, so that ccache can hit across
  # build folders.
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
endif()

if(POOT_SANITIZE)
  add_compile_options(-fsanitize=${POOT_SANITIZE} -fno-sanitize-recover=undefined
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${POOT_SANITIZE})
endif()

# poot_add_test(NAME SOURCES... [LIBS ...] [ENVIRONMENT ...])
# A GoogleTest executable, registered with ctest under its own name.
function(poot_add_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS;ENVIRONMENT" ${ARGN})
  add_executable(${name} ${ARG_SOURCES} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE ${ARG_LIBS} GTest::gtest GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE
    POOT_SOURCE_DIR="${PROJECT_SOURCE_DIR}" POOT_BINARY_DIR="${PROJECT_BINARY_DIR}")
  add_test(NAME ${name} COMMAND ${name})
  # lavapipe: run on the calling thread, which is far faster for tiny dispatches.
  set_tests_properties(${name} PROPERTIES TIMEOUT 600
    ENVIRONMENT "LP_NUM_THREADS=0;${ARG_ENVIRONMENT}")
endfunction()

# poot_add_fuzzer(NAME SOURCE CORPUS LIBS...)
# A libFuzzer target when POOT_BUILD_FUZZERS is on. In every build the same
# source is also linked with a driver that replays CORPUS, as a ctest test.
function(poot_add_fuzzer name source corpus)
  if(POOT_BUILD_FUZZERS)
    add_executable(${name} ${source})
    target_compile_options(${name} PRIVATE -fsanitize=fuzzer)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    target_link_libraries(${name} PRIVATE ${ARGN})
  endif()
  if(POOT_BUILD_TESTS)
    add_executable(${name}-replay ${source} ${PROJECT_SOURCE_DIR}/cmake/replay_corpus.cpp)
    target_link_libraries(${name}-replay PRIVATE ${ARGN})
    add_test(NAME ${name}-replay COMMAND ${name}-replay ${corpus})
  endif()
endfunction()
