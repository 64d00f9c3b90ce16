# Compiler settings: warnings (own code only, never exported), sanitizers,
# ccache, and one precompiled header shared by all targets that use LibTorch.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

add_library(barlow_warnings INTERFACE)
target_compile_options(barlow_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion
  -Wold-style-cast -Wnon-virtual-dtor
  $<$<BOOL:${BARLOW_WERROR}>:-Werror>)

# Reproducible arithmetic: without this GCC may contract a * b + c into one
# rounding in one place and not in another.
add_compile_options(-ffp-contract=off)

if(BARLOW_SANITIZE)
  list(JOIN BARLOW_SANITIZE "," sanitizers)
  # Undefined behaviour ends the program, so that the test fails.
  add_compile_options(-fsanitize=${sanitizers} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${sanitizers})
endif()

find_program(BARLOW_CCACHE_PROGRAM ccache)
if(BARLOW_CCACHE AND BARLOW_CCACHE_PROGRAM)
  # ccache can only cache files that use a precompiled header with these.
  set(launcher ${CMAKE_COMMAND} -E env
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
    ${BARLOW_CCACHE_PROGRAM})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>)
endif()
