# The Debian packages lineward and lineward-dbgsym (`make deb`): the binary, its units, pages, completions and a configuration to
# begin with. What is not for `make install` is of the component `debian`.
set(debian_folder ${CMAKE_SOURCE_DIR}/conf/debian)
set(debian_made ${CMAKE_BINARY_DIR}/debian)

# The newest entry's date: the same sources make the same package.
execute_process(COMMAND ${GIT_EXECUTABLE} log -1 --format=%aD WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
                OUTPUT_VARIABLE debian_date OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT debian_date)
  set(debian_date "Thu, 01 Jan 1970 00:00:00 +0000")
endif()
set(LINEWARD_MAINTAINER "Lineward maintainers <maintainers@lineward.example>" CACHE STRING "Who answers for the Debian package")
# A second number for a package of the same sources, as in 0.1.0+2.
set(LINEWARD_DEB_VERSION ${PROJECT_VERSION} CACHE STRING "Version of the Debian package")
configure_file(${debian_folder}/changelog.in ${debian_made}/changelog @ONLY)

# The pages that the binary prints, and files that policy wants compressed.
install(CODE "
  set(lineward \"$<TARGET_FILE:lineward>\")
  set(made \"${debian_made}\")
  set(sources \"${CMAKE_SOURCE_DIR}\")
" COMPONENT debian EXCLUDE_FROM_ALL)
install(SCRIPT ${debian_folder}/make-pages.cmake COMPONENT debian EXCLUDE_FROM_ALL)

set(in_debian COMPONENT debian EXCLUDE_FROM_ALL)
install(FILES ${debian_folder}/lineward.yaml DESTINATION /etc/lineward ${in_debian})
install(FILES ${CMAKE_SOURCE_DIR}/conf/systemd/lineward.service ${CMAKE_SOURCE_DIR}/conf/systemd/lineward@.service
              ${CMAKE_SOURCE_DIR}/conf/systemd/lineward.socket DESTINATION /lib/systemd/system ${in_debian})
install(FILES ${debian_made}/lineward.1.gz DESTINATION share/man/man1 ${in_debian})
install(FILES ${debian_made}/lineward.yaml.5.gz DESTINATION share/man/man5 ${in_debian})
install(FILES ${debian_made}/lineward.bash DESTINATION share/bash-completion/completions RENAME lineward ${in_debian})
install(FILES ${debian_made}/lineward.zsh DESTINATION share/zsh/vendor-completions RENAME _lineward ${in_debian})
install(FILES ${debian_made}/lineward.fish DESTINATION share/fish/vendor_completions.d ${in_debian})
install(FILES ${debian_made}/changelog.gz ${debian_folder}/copyright DESTINATION share/doc/lineward ${in_debian})
install(FILES ${CMAKE_SOURCE_DIR}/conf/edge.yaml ${CMAKE_SOURCE_DIR}/conf/sidecar.yaml ${CMAKE_SOURCE_DIR}/conf/stdio.yaml
              ${CMAKE_SOURCE_DIR}/conf/replicas.yaml ${CMAKE_SOURCE_DIR}/conf/every-option.yaml
        DESTINATION share/doc/lineward/examples ${in_debian})

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME lineward)
set(CPACK_PACKAGE_VERSION ${LINEWARD_DEB_VERSION})
set(CPACK_PACKAGE_CONTACT ${LINEWARD_MAINTAINER})
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_SET_DESTDIR OFF)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_COMPONENTS_ALL lineward headers debian)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
# Not stripped beforehand: what the generator takes off becomes the package of symbols.
set(CPACK_STRIP_FILES OFF)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_DEBUGINFO_PACKAGE ON)
set(CPACK_BUILD_SOURCE_DIRS ${CMAKE_SOURCE_DIR})
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "ca-certificates")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "nodejs")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "transparent proxy and gateway for MCP servers
Lineward stands between clients and servers of the Model Context Protocol
and gives servers what they lack: each call has exactly one end, limits and
cancellation hold, and clients and servers of different revisions of the
protocol understand each other.

Servers run as processes on stdin and stdout, or are reached over HTTP;
clients may be on either side too.")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${debian_folder}/conffiles ${debian_folder}/postinst ${debian_folder}/prerm ${debian_folder}/postrm)
include(CPack)
