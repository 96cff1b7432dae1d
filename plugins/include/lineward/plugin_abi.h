/* The C interface between Lineward and plugins that are shared objects. C++ authors use plugin.hpp beside it.
 *
 * A plugin exports one function, lineward_plugin_entry(). Its result begins with its size and the interface
 * number that it was built for; Lineward refuses another number. Within one number, structs only grow at
 * their end. `size` is the size of a struct: do not read members beyond it.
 *
 * Threads: Lineward calls a plugin on one thread, its loop's; a hook must not block there. Only resume() and
 * log() may be called from other threads.
 *
 * Texts are UTF-8 with a length, without a terminating zero. Data passed to a plugin lives until the call
 * returns, facts as long as the exchange. Data from a plugin must live until its call returns, or until the
 * called function returns. Exceptions must not cross the interface. */
#ifndef LINEWARD_PLUGIN_ABI_H
#define LINEWARD_PLUGIN_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LINEWARD_PLUGIN_ABI 1u

typedef struct lineward_text {
  const char* data;
  size_t size;
} lineward_text;

typedef struct lineward_pair {
  lineward_text name;
  lineward_text value;
} lineward_pair;

/* A hook's verdict on a message. */
enum {
  LINEWARD_PROCEED = 0,  /* pass it on, changed or not */
  LINEWARD_ANSWERED = 1, /* stop the message; a request or an answer: refuse() or answer() was called */
  LINEWARD_WAIT = 2,     /* begin_wait() was called; resume() follows */
  LINEWARD_FAILED = 3    /* the plugin cannot decide: the exchange ends as `internal` */
};

enum { LINEWARD_REQUEST = 0, LINEWARD_NOTIFICATION = 1, LINEWARD_RESULT = 2, LINEWARD_ERROR = 3 };

/* Reasons of a refusal: 403, 429, 401, -32602, 500. */
enum {
  LINEWARD_FORBIDDEN = 0,
  LINEWARD_RATE_LIMITED = 1,
  LINEWARD_UNAUTHORIZED = 2,
  LINEWARD_INVALID_REQUEST = 3,
  LINEWARD_INTERNAL = 4
};

enum { LINEWARD_LOG_DEBUG = 0, LINEWARD_LOG_INFO = 1, LINEWARD_LOG_WARN = 2, LINEWARD_LOG_ERROR = 3 };

typedef struct lineward_host lineward_host;         /* Lineward's: its state for this plugin */
typedef struct lineward_exchange lineward_exchange; /* Lineward's: lives until detach() has returned */
typedef struct lineward_ticket lineward_ticket;     /* Lineward's: one wait, ended by resume() */
typedef struct lineward_plugin lineward_plugin;     /* the plugin's own */
typedef struct lineward_hook lineward_hook;         /* the plugin's own, one for each attached exchange */

typedef struct lineward_facts {
  size_t size; /* set by the plugin before the call */
  lineward_text call_id;
  lineward_text server; /* as named in mcpServers */
  lineward_text method;
  lineward_text target;   /* the tool, prompt or URI named in the request, or empty */
  lineward_text revision; /* the client's MCP revision */
  lineward_text peer;     /* "127.0.0.1:51234" */
  lineward_text id;       /* the client's JSON-RPC id, JSON text */
  lineward_text principal;
  lineward_text session; /* of a legacy client: a secret */
  uint64_t bytes_in;
  uint32_t legacy;        /* 1: the client's revision is before 2026-07-28 */
  uint32_t on_stdio;      /* 1: the client is at the other end of a pipe */
  lineward_text listener; /* "listen", or the name of a further listener; empty on stdio */
} lineward_facts;

typedef struct lineward_message {
  size_t size;
  uint32_t kind;
  lineward_text bytes;  /* the whole JSON-RPC message */
  lineward_text method; /* empty for results and errors */
} lineward_message;

typedef struct lineward_refusal {
  size_t size;
  uint32_t reason;
  int32_t code;           /* of the JSON-RPC error; 0: the reason's default */
  lineward_text text;     /* one plain sentence; at most 300 bytes of it are used */
  int64_t retry_after_ms; /* negative: none */
  const lineward_pair* headers;
  size_t header_count;
} lineward_refusal;

typedef struct lineward_ending {
  size_t size;
  lineward_text reason; /* one of Lineward's end reasons: "ok", "timeout_request", … */
  lineward_text text;   /* of Lineward's own error */
  int32_t code;         /* of a JSON-RPC error sent to the client, or 0 */
  int64_t took_us;
  int64_t queued_ms;
  int64_t upstream_ms; /* negative: nothing was written to the server */
  uint64_t bytes_out;
  uint64_t events; /* messages to the client before the answer */
} lineward_ending;

/* The result of a wait. */
typedef struct lineward_decision {
  size_t size;
  uint32_t verdict;                /* all but LINEWARD_WAIT */
  const lineward_refusal* refusal; /* null: none */
  lineward_text answer;            /* empty: none */
  lineward_text message;           /* replaces the waiting message; empty: unchanged */
} lineward_decision;

typedef struct lineward_config {
  size_t size;
  lineward_text name;      /* of this plugin in logs and metrics */
  lineward_text directory; /* of the configuration file: base of relative paths */
  const lineward_pair* options;
  size_t option_count;
} lineward_config;

/* Lineward's functions for plugins. Lives as long as the process. */
typedef struct lineward_host_api {
  size_t size;
  uint32_t abi;
  void (*log)(lineward_host*, int level, lineward_text line); /* any thread; at most 2000 bytes */

  void (*facts)(lineward_exchange*, lineward_facts* out);
  /* A field of the client's request head, if headers() named it; empty when absent. */
  lineward_text (*header)(lineward_exchange*, lineward_text name);
  /* 0: an invalid field, or one reserved to Lineward. */
  int (*set_upstream_header)(lineward_exchange*, lineward_text name, lineward_text value);
  int (*add_reply_header)(lineward_exchange*, lineward_text name, lineward_text value);
  /* Before a hook returns LINEWARD_ANSWERED. The first call counts. */
  void (*refuse)(lineward_exchange*, const lineward_refusal*);
  /* `result` is the JSON text of an object. 0: it is not. */
  int (*answer)(lineward_exchange*, lineward_text result);
  /* Replaces the message of the current call, before it returns. 0: not a JSON-RPC message. */
  int (*set_message)(lineward_exchange*, lineward_text bytes);
  /* Once, before a hook returns LINEWARD_WAIT; null if no decision is pending. */
  lineward_ticket* (*begin_wait)(lineward_exchange*);
  /* From any thread, exactly once for each ticket, even if the exchange has ended. */
  void (*resume)(lineward_ticket*, const lineward_decision*);
} lineward_host_api;

/* A plugin's functions. `size` and `abi` are the same in all numbers of this interface. */
typedef struct lineward_plugin_api {
  size_t size;
  uint32_t abi;        /* LINEWARD_PLUGIN_ABI at build time */
  const char* name;    /* zero-terminated */
  const char* version; /* zero-terminated */
  /* Null: the error in the options is in `why` (a buffer for a zero-terminated text). */
  lineward_plugin* (*create)(const lineward_host_api*, lineward_host*, const lineward_config*, char* why,
                             size_t why_size);
  /* Called when no hook is left. The plugin's threads must have ended when it returns. */
  void (*destroy)(lineward_plugin*);
  /* Null: not interested in this exchange, which continues without the plugin. A plugin that cannot decide
   * returns a hook that returns LINEWARD_FAILED. */
  lineward_hook* (*attach)(lineward_plugin*, lineward_exchange*);
  int (*on_client_message)(lineward_hook*, lineward_exchange*, const lineward_message*);
  int (*on_upstream_message)(lineward_hook*, lineward_exchange*, const lineward_message*);
  /* Exactly once for each hook, before detach(). */
  void (*on_end)(lineward_hook*, lineward_exchange*, const lineward_ending*);
  void (*detach)(lineward_hook*);
  /* May be null. Adds the header fields that it reads of clients' requests, in lower case; at most 32. */
  void (*headers)(lineward_plugin*, void (*add)(void* with, lineward_text name), void* with);
  /* May be null. Adds counters for /metrics; at most 32, names of letters, digits and '_'. */
  void (*count)(lineward_plugin*, void (*add)(void* with, lineward_text name, double value), void* with);
} lineward_plugin_api;

#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
const lineward_plugin_api*
lineward_plugin_entry(void);

#ifdef __cplusplus
}
#endif
#endif
