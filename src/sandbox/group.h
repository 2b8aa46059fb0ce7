// SPDX-License-Identifier: Apache-2.0
// Private to src/sandbox: a child's processes, seen from outside.
#ifndef SANDBOX_GROUP_H
#define SANDBOX_GROUP_H

#include <sys/types.h>

// Calls each(arg, proc, pid) for every process of the group: proc is a descriptor of /proc, pid its folder's name.
typedef void group_body(void *arg, int proc, const char *pid);
void group_each(pid_t group, group_body *each, void *arg);

#endif
