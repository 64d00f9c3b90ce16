# barlow_module(NAME loss SOURCES a.cpp b.cpp DEPENDS core dist [PRIVATE_LINK lib])
#
# One static library per module, so that a forbidden dependency does not link.
# A source file that exists but is not listed is an error, not a silent drop.
# NO_PCH: for modules whose files do not include LibTorch.
function(barlow_module)
  cmake_parse_arguments(PARSE_ARGV 0 arg "NO_PCH" "NAME" "SOURCES;DEPENDS;PRIVATE_LINK")
  file(GLOB_RECURSE present RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" CONFIGURE_DEPENDS *.cpp)
  list(REMOVE_ITEM present ${arg_SOURCES})
  if(present)
    message(FATAL_ERROR "Module ${arg_NAME}: not listed in SOURCES: ${present}")
  endif()
  set(target barlow_${arg_NAME})
  add_library(${target} STATIC ${arg_SOURCES})
  add_library(barlow::${arg_NAME} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${arg_NAME})
  target_include_directories(${target}
    PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
           "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>"
    PRIVATE "${PROJECT_SOURCE_DIR}/src")
  target_compile_features(${target} PUBLIC cxx_std_20)
  list(TRANSFORM arg_DEPENDS PREPEND barlow_)
  target_link_libraries(${target}
    PUBLIC barlow_torch ${arg_DEPENDS}
    PRIVATE ${arg_PRIVATE_LINK} "$<BUILD_INTERFACE:barlow_warnings>")
  if(arg_NO_PCH)
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  else()
    barlow_use_pch(${target})
  endif()
  set_property(GLOBAL APPEND PROPERTY BARLOW_MODULES ${target})
endfunction()
