# `cmake --install BUILD --prefix PREFIX` gives headers and a package that find_package(gesso) reads.
include(CMakePackageConfigHelpers)

set(package_directory ${CMAKE_INSTALL_DATADIR}/cmake/gesso)
install(DIRECTORY include/gesso DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.hpp" PATTERN "*.cuh")
install(TARGETS gesso EXPORT gesso_targets)
install(EXPORT gesso_targets NAMESPACE gesso:: FILE gesso-targets.cmake DESTINATION ${package_directory})

configure_package_config_file(cmake/gesso-config.cmake.in ${PROJECT_BINARY_DIR}/gesso-config.cmake
                              INSTALL_DESTINATION ${package_directory})
# Headers have no ABI of a machine word, hence ARCH_INDEPENDENT. Before 1.0 a minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/gesso-config-version.cmake
                                 COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES ${PROJECT_BINARY_DIR}/gesso-config.cmake ${PROJECT_BINARY_DIR}/gesso-config-version.cmake
        DESTINATION ${package_directory})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
