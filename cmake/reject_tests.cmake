# Misuse must stop at a static_assert whose sentence names the way out. A file in tests/rejects/ holds correct use, then
# misuse between `#ifdef REJECT` and `#endif`, and says what the compiler must print:
#   // expect: "gesso::float_format: ExponentBits is 2 to 8"
# and perhaps, for a rule about the build:
#   // flags: -ffast-math
# The file must compile without REJECT (so a broken include cannot look like a rejection) and must fail with it, with
# the sentence in the output.
#
# This file is included by tests/CMakeLists.txt, and run by each test as a script: cmake -P reject_tests.cmake.

if(CMAKE_SCRIPT_MODE_FILE)
  # In: SOURCE; COMMAND, the compiler and its flags as a list separated by "|".
  string(REPLACE "|" ";" command "${COMMAND}")
  file(STRINGS ${SOURCE} expected REGEX "^// expect: \"")
  if(NOT expected)
    message(FATAL_ERROR "${SOURCE} has no line: // expect: \"...\"")
  endif()

  file(STRINGS ${SOURCE} flags REGEX "^// flags: ")
  string(REGEX REPLACE "^// flags: " "" flags "${flags}")
  separate_arguments(flags)

  execute_process(COMMAND ${command} ${flags} ${SOURCE} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "The correct use in ${SOURCE} does not compile:\n${output}")
  endif()
  execute_process(COMMAND ${command} ${flags} -DREJECT ${SOURCE} RESULT_VARIABLE result OUTPUT_VARIABLE output
                  ERROR_VARIABLE output)
  if(result EQUAL 0)
    message(FATAL_ERROR "The misuse in ${SOURCE} compiles")
  endif()
  foreach(line IN LISTS expected)
    string(REGEX REPLACE "^// expect: \"(.*)\"$" "\\1" sentence "${line}")
    string(FIND "${output}" "${sentence}" position)
    if(position EQUAL -1)
      message(FATAL_ERROR "The misuse in ${SOURCE} is rejected, but not with the sentence\n  ${sentence}\n${output}")
    endif()
  endforeach()
  return()
endif()

# gesso_add_reject_tests(<directory>): a ctest build.rejects.<file>.<compiler> for every .cpp and .cu in it.
function(gesso_add_reject_tests directory)
  gesso_find_host_compilers(host_compilers)
  file(GLOB sources CONFIGURE_DEPENDS ${directory}/*.cpp ${directory}/*.cu)
  foreach(source IN LISTS sources)
    cmake_path(GET source FILENAME name)
    set(compilers ${host_compilers})
    if(source MATCHES "[.]cu$")
      if(NOT GESSO_HAS_CUDA)
        gesso_leave_out("reject tests in .cu files (no CUDA compiler)")
        continue()
      endif()
      set(compilers CMAKE_CUDA_COMPILER)
    endif()
    foreach(compiler IN LISTS compilers)
      cmake_path(GET ${compiler} FILENAME compiler_name)
      set(command ${${compiler}} -std=c++17 -I${PROJECT_SOURCE_DIR}/include)
      if("${compiler}" STREQUAL "CMAKE_CUDA_COMPILER")
        list(APPEND command -c -o ${CMAKE_CURRENT_BINARY_DIR}/reject.${name}.o)
      else()
        list(APPEND command -fsyntax-only)
      endif()
      list(JOIN command "|" command)
      add_test(NAME build.rejects.${name}.${compiler_name}
               COMMAND ${CMAKE_COMMAND} -DSOURCE=${source} "-DCOMMAND=${command}" -P ${PROJECT_SOURCE_DIR}/cmake/reject_tests.cmake)
      set_tests_properties(build.rejects.${name}.${compiler_name} PROPERTIES LABELS build TIMEOUT 120)
    endforeach()
  endforeach()
  if(Python3_FOUND)
    add_test(NAME build.rejects_complete
             COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/cmake/rejects_complete.py ${PROJECT_SOURCE_DIR})
    set_tests_properties(build.rejects_complete PROPERTIES LABELS build)
  endif()
endfunction()
