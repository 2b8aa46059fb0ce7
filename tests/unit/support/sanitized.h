// SPDX-License-Identifier: Apache-2.0
// Whether this build has sanitizers, which make a test some ten times as long. A test of many tasks then takes part of
// them: each operator's code still runs, and the other build has them all.
#ifndef TESTS_SANITIZED_H
#define TESTS_SANITIZED_H

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#if !defined(SANITIZED) && defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

#endif
