// SPDX-License-Identifier: Apache-2.0
// libmicrohttpd is loaded when a server begins: it and what it needs (GnuTLS) would cost every command's start. These
// are the functions that this folder calls, by their own names; each finds its like in the library.
#include <microhttpd.h>
#include <stdarg.h>

#include "base/door.h"
#include "serve/microhttpd_door.h"

static struct late_library library = {.name = "libmicrohttpd.so.12", .package = "libmicrohttpd12"};

enum assay_status microhttpd_load(struct assay_error *err) {
  return late_library_load(&library, err);
}

DOOR_VOID(MHD_stop_daemon, (struct MHD_Daemon * daemon), (daemon))
DOOR(MHD_socket, MHD_quiesce_daemon, (struct MHD_Daemon * daemon), (daemon), MHD_INVALID_SOCKET)
DOOR_VOID(MHD_suspend_connection, (struct MHD_Connection * connection), (connection))
DOOR_VOID(MHD_resume_connection, (struct MHD_Connection * connection), (connection))
DOOR(const char *, MHD_lookup_connection_value,
     (struct MHD_Connection * connection, enum MHD_ValueKind kind, const char *key), (connection, kind, key), NULL)
DOOR(int, MHD_get_connection_values,
     (struct MHD_Connection * connection, enum MHD_ValueKind kind, MHD_KeyValueIterator each, void *arg),
     (connection, kind, each, arg), 0)
DOOR(enum MHD_Result, MHD_queue_response,
     (struct MHD_Connection * connection, unsigned code, struct MHD_Response *response), (connection, code, response),
     MHD_NO)
DOOR_VOID(MHD_destroy_response, (struct MHD_Response * response), (response))
DOOR(enum MHD_Result, MHD_add_response_header, (struct MHD_Response * response, const char *name, const char *value),
     (response, name, value), MHD_NO)
DOOR(struct MHD_Response *, MHD_create_response_from_buffer, (size_t n, void *bytes, enum MHD_ResponseMemoryMode mode),
     (n, bytes, mode), NULL)
DOOR(struct MHD_Response *, MHD_create_response_from_callback,
     (uint64_t n, size_t block, MHD_ContentReaderCallback reader, void *arg, MHD_ContentReaderFreeCallback done),
     (n, block, reader, arg, done), NULL)
DOOR(const char *, MHD_get_reason_phrase_for, (unsigned code), (code), NULL)

// These take more for some kinds of what is asked, none of which is asked here.
const union MHD_ConnectionInfo *MHD_get_connection_info(struct MHD_Connection *connection,
                                                        enum MHD_ConnectionInfoType type, ...) {
  const union MHD_ConnectionInfo *(*function)(struct MHD_Connection *, enum MHD_ConnectionInfoType, ...);
  *(void **)&function = late_library_function(&library, "MHD_get_connection_info");
  return function ? function(connection, type) : NULL;
}

const union MHD_DaemonInfo *MHD_get_daemon_info(struct MHD_Daemon *daemon, enum MHD_DaemonInfoType type, ...) {
  const union MHD_DaemonInfo *(*function)(struct MHD_Daemon *, enum MHD_DaemonInfoType, ...);
  *(void **)&function = late_library_function(&library, "MHD_get_daemon_info");
  return function ? function(daemon, type) : NULL;
}

struct MHD_Daemon *MHD_start_daemon(unsigned flags, uint16_t port, MHD_AcceptPolicyCallback accept, void *accept_arg,
                                    MHD_AccessHandlerCallback handler, void *handler_arg, ...) {
  struct MHD_Daemon *(*function)(unsigned, uint16_t, MHD_AcceptPolicyCallback, void *, MHD_AccessHandlerCallback,
                                 void *, va_list);
  va_list list;
  va_start(list, handler_arg);
  *(void **)&function = late_library_function(&library, "MHD_start_daemon_va");
  struct MHD_Daemon *daemon = function ? function(flags, port, accept, accept_arg, handler, handler_arg, list) : NULL;
  va_end(list);
  return daemon;
}
