# Headers, libraries and a package config, so that a consumer writes
#   find_package(barlow) ; target_link_libraries(app PRIVATE barlow::barlow)
include(CMakePackageConfigHelpers)

get_property(modules GLOBAL PROPERTY BARLOW_MODULES)
add_library(barlow_all INTERFACE)
add_library(barlow::barlow ALIAS barlow_all)
set_target_properties(barlow_all PROPERTIES EXPORT_NAME barlow)
target_link_libraries(barlow_all INTERFACE ${modules})

set(config_dir "${CMAKE_INSTALL_LIBDIR}/cmake/barlow")
install(TARGETS barlow_all barlow_torch ${modules} EXPORT barlow-targets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(DIRECTORY include/barlow DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(DIRECTORY recipes/ DESTINATION "${CMAKE_INSTALL_DATADIR}/barlow/recipes")
install(EXPORT barlow-targets NAMESPACE barlow:: DESTINATION "${config_dir}")
configure_package_config_file(cmake/barlow-config.cmake.in
  "${CMAKE_BINARY_DIR}/barlow-config.cmake" INSTALL_DESTINATION "${config_dir}")
write_basic_package_version_file("${CMAKE_BINARY_DIR}/barlow-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_BINARY_DIR}/barlow-config.cmake"
  "${CMAKE_BINARY_DIR}/barlow-config-version.cmake" DESTINATION "${config_dir}")
