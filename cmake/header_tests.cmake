# Tests that compile the headers the ways that users do. Each runs one compiler command, with compilers that need not be
# the one this build uses: so a fault is a failed test with its output, not a broken build.
# The ids B01 to B12 name the cases of the public fault reports that the tests come from.

# gesso_find_host_compilers(<variable>): g++ and clang++, as far as they are installed.
function(gesso_find_host_compilers variable)
  find_program(GESSO_GXX g++)
  find_program(GESSO_CLANGXX NAMES clang++ clang++-19 clang++-18 clang++-17 clang++-16 clang++-15 clang++-14)
  set(found)
  foreach(compiler GESSO_GXX GESSO_CLANGXX)
    if(${compiler})
      list(APPEND found ${compiler})
    endif()
  endforeach()
  if(NOT GESSO_CLANGXX)
    gesso_leave_out("header and reject tests with clang++ (package clang)")
  endif()
  set(${variable} ${found} PARENT_SCOPE)
endfunction()

# gesso_add_compile_test(<name> <compiler> <argument>...): a ctest build.<name> that runs one compiler command.
function(gesso_add_compile_test name compiler)
  set(label build)
  if(compiler STREQUAL CMAKE_CUDA_COMPILER)
    set(label build device)
  endif()
  add_test(NAME build.${name} COMMAND ${compiler} ${ARGN})
  set_tests_properties(build.${name} PROPERTIES LABELS "${label}" TIMEOUT 300)
endfunction()

# gesso_generate_units(<variable> <header> <extension>): two files that include the header, the first of them twice,
# and that make one program.
function(gesso_generate_units variable header extension)
  set(stem ${CMAKE_CURRENT_BINARY_DIR}/units/${header})
  file(CONFIGURE OUTPUT ${stem}.first.${extension} @ONLY CONTENT
"#include <gesso/@header@>
#include <gesso/@header@>
int second_unit();
int main() { return second_unit(); }
")
  file(CONFIGURE OUTPUT ${stem}.second.${extension} @ONLY CONTENT
"#include <gesso/@header@>
int second_unit();
int second_unit() { return 0; }
")
  set(${variable} ${stem}.first.${extension} ${stem}.second.${extension} PARENT_SCOPE)
endfunction()

# gesso_generate_prelude(<file>): includes every foreign header that the library includes, as far as a compiler has it.
# What follows it sees the macros of those headers as a given, and may poison macros that they cannot bear.
function(gesso_generate_prelude file)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/gesso/*)
  set(foreign)
  foreach(header IN LISTS headers)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
    file(STRINGS ${header} lines REGEX "^ *# *include *<[^>]+>")
    list(FILTER lines EXCLUDE REGEX "<gesso/")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE ".*<([^>]+)>.*" "\\1" included "${line}")
      list(APPEND foreign ${included})
    endforeach()
  endforeach()
  list(REMOVE_DUPLICATES foreign)
  list(SORT foreign)
  set(text "#pragma once\n")
  foreach(included IN LISTS foreign)
    # cuda/std is for NVRTC; cuda_*.h and cub/ exist for nvcc only.
    string(APPEND text "#if __has_include(<${included}>)\n#include <${included}>\n#endif\n")
  endforeach()
  file(CONFIGURE OUTPUT ${file} CONTENT "${text}" @ONLY)
endfunction()

# gesso_generate_all_headers(<file>): includes every public header.
function(gesso_generate_all_headers file)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/include
       ${PROJECT_SOURCE_DIR}/include/gesso/*.hpp ${PROJECT_SOURCE_DIR}/include/gesso/*.cuh)
  set(text "#pragma once\n")
  foreach(header IN LISTS headers)
    set(line "#include <${header}>\n")
    if(header MATCHES "[.]cuh$")
      string(PREPEND line "#if defined(__CUDACC__) && !defined(__CUDACC_RTC__)\n")
      string(APPEND line "#endif\n")
    endif()
    string(APPEND text "${line}")
  endforeach()
  file(CONFIGURE OUTPUT ${file} CONTENT "${text}" @ONLY)
endfunction()

# Every public header alone, twice in a row, in two translation units of one program.
function(gesso_add_header_tests)
  gesso_find_host_compilers(host_compilers)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/include/gesso
       ${PROJECT_SOURCE_DIR}/include/gesso/*.hpp ${PROJECT_SOURCE_DIR}/include/gesso/*.cuh)
  set(include -I${PROJECT_SOURCE_DIR}/include)
  foreach(header IN LISTS headers)
    if(header MATCHES "[.]hpp$")
      gesso_generate_units(units ${header} cpp)
      foreach(compiler IN LISTS host_compilers)
        cmake_path(GET ${compiler} FILENAME compiler_name)
        gesso_add_compile_test(B08_alone.${header}.${compiler_name} ${${compiler}}
          -std=c++17 ${GESSO_WARNINGS} -Werror ${include} ${units} -o ${CMAKE_CURRENT_BINARY_DIR}/units/${header}.${compiler_name})
      endforeach()
    endif()
    if(NOT GESSO_HAS_CUDA)
      continue()
    endif()
    # An nvcc run takes seconds. A .hpp alone differs from what g++ saw only where it asks for CUDA; that all of them
    # together compile as CUDA is in the tests of B10.
    file(STRINGS ${PROJECT_SOURCE_DIR}/include/gesso/${header} asks_for_cuda REGEX "__CUDA" LIMIT_COUNT 1)
    if(header MATCHES "[.]cuh$" OR asks_for_cuda)
      gesso_generate_units(units ${header} cu)
      gesso_add_compile_test(B03_alone.${header}.nvcc ${CMAKE_CUDA_COMPILER}
        -std=c++17 -Werror all-warnings -Xcompiler=-Wall,-Wextra,-Werror ${include} ${units}
        -o ${CMAKE_CURRENT_BINARY_DIR}/units/${header}.nvcc)
    endif()
  endforeach()
endfunction()

# One program that instantiates the public templates, compiled under what users' builds do to a header.
function(gesso_add_instantiation_tests directory)
  gesso_find_host_compilers(host_compilers)
  set(include -I${PROJECT_SOURCE_DIR}/include -I${CMAKE_CURRENT_BINARY_DIR} -I${directory})
  set(units ${directory}/first_unit.cpp ${directory}/second_unit.cpp)
  set(prelude ${CMAKE_CURRENT_BINARY_DIR}/foreign_headers.hpp)
  gesso_generate_prelude(${prelude})
  gesso_generate_all_headers(${CMAKE_CURRENT_BINARY_DIR}/all_headers.hpp)
  set(strict ${GESSO_WARNINGS} -Werror)

  foreach(compiler IN LISTS host_compilers)
    cmake_path(GET ${compiler} FILENAME name)
    set(program ${CMAKE_CURRENT_BINARY_DIR}/${name})
    gesso_add_compile_test(B03_two_units.${name} ${${compiler}} -std=c++17 ${include} ${units} -o ${program}.two_units)
    set_tests_properties(build.B03_two_units.${name} PROPERTIES FIXTURES_SETUP two_units.${name})
    add_test(NAME build.B03_two_units_run.${name} COMMAND ${program}.two_units)
    set_tests_properties(build.B03_two_units_run.${name} PROPERTIES LABELS build FIXTURES_REQUIRED two_units.${name})
    gesso_add_compile_test(B05_poisoned_macros.${name} ${${compiler}} -std=c++17 ${include} -fsyntax-only
                           -include ${directory}/poisoned_macros.hpp ${directory}/first_unit.cpp)
    gesso_add_compile_test(B11_cpp20.${name} ${${compiler}} -std=c++20 ${strict} ${include} -fsyntax-only
                           ${directory}/first_unit.cpp)
    # With optimisation, since g++ finds some warnings only then.
    gesso_add_compile_test(B12_strict_warnings.${name} ${${compiler}} -std=c++17 -O2 ${strict} ${include}
                           -c ${directory}/first_unit.cpp -o ${program}.strict.o)
    if(Python3_FOUND)
      add_test(NAME build.B05_no_macro_leaks.${name}
               COMMAND Python3::Interpreter ${directory}/macro_leaks.py ${${compiler}} ${prelude}
                       ${PROJECT_SOURCE_DIR}/include)
      set_tests_properties(build.B05_no_macro_leaks.${name} PROPERTIES LABELS build)
    endif()
  endforeach()

  if(NOT GESSO_HAS_CUDA)
    gesso_leave_out("header tests with nvcc and NVRTC (no CUDA compiler)")
    return()
  endif()
  list(JOIN strict "," strict_for_host)
  set(plain -std=c++17 -arch=sm_90 ${include})
  set(strict ${plain} -Werror all-warnings -Xcompiler=${strict_for_host})
  set(unit -x cu ${directory}/first_unit.cpp)
  set(object -c -o ${CMAKE_CURRENT_BINARY_DIR})
  gesso_add_compile_test(B01_torch_defines.nvcc ${CMAKE_CUDA_COMPILER} ${strict}
    -D__CUDA_NO_HALF_OPERATORS__ -D__CUDA_NO_HALF_CONVERSIONS__ -D__CUDA_NO_BFLOAT16_CONVERSIONS__
    -D__CUDA_NO_HALF2_OPERATORS__ ${unit} ${object}/torch_defines.o)
  gesso_add_compile_test(B03_two_units.nvcc ${CMAKE_CUDA_COMPILER} ${plain} -x cu ${units}
                         -o ${CMAKE_CURRENT_BINARY_DIR}/nvcc.two_units)
  gesso_add_compile_test(B05_poisoned_macros.nvcc ${CMAKE_CUDA_COMPILER} ${plain}
    -I${CUDAToolkit_INCLUDE_DIRS}/cccl -include ${directory}/poisoned_macros.hpp ${unit} ${object}/poisoned_macros.o)
  # One object for every architecture, from the oldest that nvcc 13 knows to the newest.
  set(architectures)
  foreach(architecture 75 80 86 89 90 100 120)
    list(APPEND architectures -gencode arch=compute_${architecture},code=sm_${architecture})
  endforeach()
  gesso_add_compile_test(B06_architectures.nvcc ${CMAKE_CUDA_COMPILER} -std=c++17 ${include} -Werror all-warnings
                         -t 2 ${architectures} ${unit} ${object}/architectures.o)
  set_tests_properties(build.B06_architectures.nvcc PROPERTIES PROCESSORS 2)  # as many as it takes: its time is limited
  gesso_add_compile_test(B10_B12_strict_warnings.nvcc ${CMAKE_CUDA_COMPILER} ${strict} ${unit} ${object}/strict.o)
  gesso_add_compile_test(B10_relaxed_constexpr.nvcc ${CMAKE_CUDA_COMPILER} ${strict} --expt-relaxed-constexpr ${unit}
                         ${object}/relaxed_constexpr.o)
  gesso_add_compile_test(B11_cpp20.nvcc ${CMAKE_CUDA_COMPILER} ${strict} -std=c++20 ${unit} ${object}/cpp20.o)
  if(GESSO_CLANGXX)
    # clang sees the unused static functions of CUDA's own headers, which nvcc gives it without their system header mark.
    gesso_add_compile_test(B11_clang++_host.nvcc ${CMAKE_CUDA_COMPILER} ${strict} -Xcompiler=-Wno-unused-function
                           -ccbin ${GESSO_CLANGXX} ${unit} ${object}/clang_host.o)
  endif()
endfunction()
