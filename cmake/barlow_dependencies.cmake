# Everything barlow links, found once. No downloads.

find_package(Torch 1.13 REQUIRED)
find_package(Threads REQUIRED)
find_package(JPEG REQUIRED)
find_package(PNG REQUIRED)
find_package(ZLIB REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(WebP REQUIRED IMPORTED_TARGET libwebp libwebpdemux)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(tomlplusplus 3.3 REQUIRED)

# LibTorch as a system include, so that warnings are about barlow's own code.
add_library(barlow_torch INTERFACE)
add_library(barlow::torch ALIAS barlow_torch)
target_link_libraries(barlow_torch INTERFACE ${TORCH_LIBRARIES})
# Debian's package lists a relative usr/include too.
list(FILTER TORCH_INCLUDE_DIRS INCLUDE REGEX "^/")
target_include_directories(barlow_torch SYSTEM INTERFACE
  "$<BUILD_INTERFACE:${TORCH_INCLUDE_DIRS}>")
set_target_properties(barlow_torch PROPERTIES EXPORT_NAME torch)

# A file that includes <torch/types.h> takes 7 s to compile, 2 s through this
# header; <torch/torch.h> takes 18 s, and 9 s even when precompiled (its
# deferred templates are instantiated in every file), so it is never included.
file(WRITE "${CMAKE_BINARY_DIR}/pch/pch.cpp.tmp" "// Owns the precompiled header.\n")
file(COPY_FILE "${CMAKE_BINARY_DIR}/pch/pch.cpp.tmp" "${CMAKE_BINARY_DIR}/pch/pch.cpp"
  ONLY_IF_DIFFERENT)
add_library(barlow_pch OBJECT "${CMAKE_BINARY_DIR}/pch/pch.cpp")
target_link_libraries(barlow_pch PRIVATE barlow_torch $<BUILD_INTERFACE:barlow_warnings>)
set_target_properties(barlow_pch PROPERTIES POSITION_INDEPENDENT_CODE OFF)
target_compile_options(barlow_pch PRIVATE -fPIC)
target_precompile_headers(barlow_pch PRIVATE
  <algorithm> <array> <cmath> <cstdint> <map> <memory> <optional> <string>
  <string_view> <utility> <vector> <torch/types.h>
  <torch/csrc/autograd/custom_function.h>)

# A precompiled header serves only files compiled with the same flags: CMake
# gives programs -fPIE where libraries have -fPIC.
function(barlow_use_pch target)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${target} PRIVATE -fPIC)
  target_precompile_headers(${target} REUSE_FROM barlow_pch)
endfunction()
