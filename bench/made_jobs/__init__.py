# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Jobs whose truth is known; bench/job_truth.py is the program."""
