# barlow_test(NAME loss SOURCES a_test.cpp DEPENDS loss [ORACLE loss.py]
#             [LINK target...] [THREADED])
#
# THREADED: its tests keep two cores busy, so CTest runs nothing beside them.
# Threads of oneDNN's convolutions wait for each other by spinning; with more
# threads than cores a training step takes ten times as long.
#
# One GoogleTest program per module. ORACLE names a script of tests/oracle: it
# runs once before the tests, writes its values (from Python torch, torchvision
# or Pillow) into a folder, and the tests read them from BARLOW_ORACLE_DIR.
find_package(GTest REQUIRED)
include(GoogleTest)
# Debian's interpreter, which has Debian's torch; another first on PATH may not.
find_program(BARLOW_PYTHON NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH)
find_program(BARLOW_PYTHON NAMES python3 REQUIRED)

function(barlow_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "THREADED" "NAME;ORACLE" "SOURCES;DEPENDS;LINK")
  file(GLOB present RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" CONFIGURE_DEPENDS *.cpp)
  list(REMOVE_ITEM present ${arg_SOURCES})
  if(present)
    message(FATAL_ERROR "Tests of ${arg_NAME}: not listed in SOURCES: ${present}")
  endif()
  set(target barlow_${arg_NAME}_tests)
  set(oracle_dir "${CMAKE_BINARY_DIR}/oracle/${arg_NAME}")
  add_executable(${target} ${arg_SOURCES})
  list(TRANSFORM arg_DEPENDS PREPEND barlow_)
  target_link_libraries(${target} PRIVATE
    ${arg_DEPENDS} barlow_test_support ${arg_LINK} GTest::gtest barlow_warnings)
  target_include_directories(${target} PRIVATE
    "${PROJECT_SOURCE_DIR}/tests" "${PROJECT_SOURCE_DIR}/src")
  target_compile_definitions(${target} PRIVATE
    BARLOW_ORACLE_DIR="${oracle_dir}" BARLOW_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  barlow_use_pch(${target})
  set(processors 1)
  if(arg_THREADED)
    set(processors 2)
  endif()
  set(fixture "")
  if(arg_ORACLE)
    set(fixture FIXTURES_REQUIRED oracle_${arg_NAME})
    add_test(NAME oracle.${arg_NAME}
      COMMAND ${BARLOW_PYTHON} "${PROJECT_SOURCE_DIR}/tests/oracle/${arg_ORACLE}" "${oracle_dir}")
    set_tests_properties(oracle.${arg_NAME} PROPERTIES
      FIXTURES_SETUP oracle_${arg_NAME} TIMEOUT 600 PROCESSORS ${processors})
  endif()
  gtest_discover_tests(${target} TEST_PREFIX ${arg_NAME}.
    NO_PRETTY_VALUES DISCOVERY_TIMEOUT 60 PROPERTIES
    TIMEOUT 300 PROCESSORS ${processors} ${fixture})
endfunction()
