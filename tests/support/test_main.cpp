// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// main() of every test program that needs no GPU, compiled once.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
