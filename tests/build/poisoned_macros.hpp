// Copyright 2026 The Gesso authors. Licensed under the Apache License, Version 2.0.
//
// Macros that windows.h and careless projects define. Included ahead of everything: the library must not use these
// names. The foreign headers come first, since the standard library itself cannot bear some of them.
#include "foreign_headers.hpp"

#define min(a, b) poisoned(a, b)
#define max(a, b) poisoned(a, b)
#define small poisoned
#define near poisoned
#define far poisoned
#define ERROR poisoned
#define CHECK(a) poisoned(a)
#define WARP_SIZE poisoned
#define DIV_UP(a, b) poisoned(a, b)
