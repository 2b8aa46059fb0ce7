# SPDX-License-Identifier: Apache-2.0
"""KernelBench's original modules, made at the sizes of Assay's workloads: one module a level, and what they share."""
