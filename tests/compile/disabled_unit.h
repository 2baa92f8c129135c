// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

void in_disabled_unit();
