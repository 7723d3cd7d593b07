// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
#include "ubl_spec.h"

unsigned msix_vectors(void) { return UBL_HOST_NUM_MSIX; }
