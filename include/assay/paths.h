// SPDX-License-Identifier: Apache-2.0
// Where the files are that a judgement needs: Assay's own programs, and what of the machine it may be pointed to.
// Everybody takes the struct by pointer. It and its strings are borrowed: they outlive whatever was started with them.
#ifndef ASSAY_PATHS_H
#define ASSAY_PATHS_H

// All 0 is allowed. A program of Assay's own may be NULL where no candidate needs it.
struct assay_paths {
  const char *runner;        // assay-runner, which runs C on the CPU
  const char *device_runner; // assay-device-runner, which carries out plans
  const char *builder;       // assay-builder, which compiles device code
  const char *recorder;      // assay-recorder, which runs the host code of CUDA files
  const char *library;       // assay-library, which records a vendor's library
  const char *worker_script; // worker.py, which runs Python candidates
  const char *worker;        // assay-worker.so; assay-lift.so is in the same folder
  const char *include;       // the folder with assay/candidate.h and assay/cuda.h
  const char *temporary;     // the parent of temporary folders
  const char *cache;         // the folder for Assay's own compiled device code; NULL: none is kept
  const char *path_env;      // the value of PATH, to find compilers and Python on; NULL: nothing is found by its name
  // NAME=VALUE, NULL-terminated: CC, CXX, CUDA_HOME, TORCH_CUDA_ARCH_LIST as the user has set them, for what Python
  // candidates compile, in an order that does not change: they are part of the settings' hash. NULL: none is set.
  const char *const *compiler_settings;
  const char *proc;   // where the machine's load is read; NULL: /proc
  const char *python; // an interpreter with PyTorch, a name or a path; NULL: python3
  const char *nvrtc;  // libnvrtc; NULL: searched where it usually is. So are the next three
  const char *cublaslt, *cudnn, *cupti;
};

#endif
