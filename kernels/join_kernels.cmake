# Joins the kernels that pootc wrote into one text, each behind a line
# `// kernel NAME`, which lib/Planner embeds:
#   cmake -DLIBRARY=FOLDER -DOUTPUT=FILE -P join_kernels.cmake
file(GLOB kernels ${LIBRARY}/*/*.mlir)
list(SORT kernels)
file(WRITE ${OUTPUT}.tmp "")
foreach(kernel IN LISTS kernels)
  cmake_path(GET kernel STEM LAST_ONLY name)
  file(READ ${kernel} text)
  file(APPEND ${OUTPUT}.tmp "// kernel ${name}\n${text}")
endforeach()
file(RENAME ${OUTPUT}.tmp ${OUTPUT})
