/* The C interface between Lineward and plugins that are shared objects. C++ authors use plugin.hpp beside it.
 *
 * A plugin exports one function, lineward_plugin_entry(). What it returns begins with its size and the number
 * of the interface that it was built for; Lineward refuses another number. Within one number structs only
 * grow at their end, and `size` says how much of one there is: read no member that lies beyond it.
 *
 * Threads: Lineward calls a plugin on one thread, its loop's; a hook must not block there. Of the functions
 * below only resume() and log() may be called from others.
 *
 * Texts are UTF-8 with their length, not ended by a zero. What Lineward hands out lives until the call
 * returns, facts as long as the exchange; what a plugin hands out must live until its call returns, or until
 * the function it was given to does. No exception may cross. */
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

/* What a hook says of a message. */
enum {
  LINEWARD_PROCEED = 0,  /* pass it on, changed or not */
  LINEWARD_ANSWERED = 1, /* it goes no further; of a request or an answer: refuse() or answer() was called */
  LINEWARD_WAIT = 2,     /* begin_wait() was called; resume() comes later */
  LINEWARD_FAILED = 3    /* the plugin cannot decide: the exchange ends as `internal` */
};

enum { LINEWARD_REQUEST = 0, LINEWARD_NOTIFICATION = 1, LINEWARD_RESULT = 2, LINEWARD_ERROR = 3 };

/* Why a plugin refuses: 403, 429, 401, -32602, 500. */
enum {
  LINEWARD_FORBIDDEN = 0,
  LINEWARD_RATE_LIMITED = 1,
  LINEWARD_UNAUTHORIZED = 2,
  LINEWARD_INVALID_REQUEST = 3,
  LINEWARD_INTERNAL = 4
};

enum { LINEWARD_LOG_DEBUG = 0, LINEWARD_LOG_INFO = 1, LINEWARD_LOG_WARN = 2, LINEWARD_LOG_ERROR = 3 };

typedef struct lineward_host lineward_host;         /* Lineward's: this plugin's place in it */
typedef struct lineward_exchange lineward_exchange; /* Lineward's: lives until detach() has returned */
typedef struct lineward_ticket lineward_ticket;     /* Lineward's: one wait, ended by resume() */
typedef struct lineward_plugin lineward_plugin;     /* the plugin's own */
typedef struct lineward_hook lineward_hook; /* the plugin's own, one for each exchange that it wants */

typedef struct lineward_facts {
  size_t size; /* set by the plugin before it asks */
  lineward_text call_id;
  lineward_text server; /* as named in mcpServers */
  lineward_text method;
  lineward_text target;   /* the tool, prompt or URI that it names, or empty */
  lineward_text revision; /* of MCP, as the client speaks it */
  lineward_text peer;     /* "127.0.0.1:51234" */
  lineward_text id;       /* the client's JSON-RPC id, JSON text */
  lineward_text principal;
  lineward_text session; /* of a legacy client: a secret */
  uint64_t bytes_in;
  uint32_t legacy;   /* 1: the client speaks a revision before 2026-07-28 */
  uint32_t on_stdio; /* 1: the client is at the other end of a pipe */
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
  int32_t code;           /* of the JSON-RPC error; 0: the reason's */
  lineward_text text;     /* one plain sentence; at most 300 bytes of it are used */
  int64_t retry_after_ms; /* negative: not said */
  const lineward_pair* headers;
  size_t header_count;
} lineward_refusal;

typedef struct lineward_ending {
  size_t size;
  lineward_text reason; /* one of Lineward's end reasons: "ok", "timeout_request", … */
  lineward_text text;   /* of Lineward's own error */
  int32_t code;         /* of a JSON-RPC error that went to the client, or 0 */
  int64_t took_us;
  int64_t queued_ms;
  int64_t upstream_ms; /* negative: nothing was written to the server */
  uint64_t bytes_out;
  uint64_t events; /* messages to the client before the answer */
} lineward_ending;

/* How a wait ends. */
typedef struct lineward_decision {
  size_t size;
  uint32_t verdict;                /* all but LINEWARD_WAIT */
  const lineward_refusal* refusal; /* null: none */
  lineward_text answer;            /* empty: none */
  lineward_text message;           /* in place of the message that waits; empty: as it is */
} lineward_decision;

typedef struct lineward_config {
  size_t size;
  lineward_text name;      /* of this plugin in logs and metrics */
  lineward_text directory; /* of the configuration file: where relative paths start */
  const lineward_pair* options;
  size_t option_count;
} lineward_config;

/* What Lineward does for plugins. Lives as long as the process. */
typedef struct lineward_host_api {
  size_t size;
  uint32_t abi;
  void (*log)(lineward_host*, int level, lineward_text line); /* any thread; at most 2000 bytes */

  void (*facts)(lineward_exchange*, lineward_facts* out);
  /* A field of the client's request head that headers() named; empty when absent. */
  lineward_text (*header)(lineward_exchange*, lineward_text name);
  /* 0: not a legal field, or one that belongs to Lineward. */
  int (*set_upstream_header)(lineward_exchange*, lineward_text name, lineward_text value);
  int (*add_reply_header)(lineward_exchange*, lineward_text name, lineward_text value);
  /* Before a hook returns LINEWARD_ANSWERED. The first of them counts. */
  void (*refuse)(lineward_exchange*, const lineward_refusal*);
  /* `result` is the JSON text of an object. 0: it is none. */
  int (*answer)(lineward_exchange*, lineward_text result);
  /* In place of the message that the hook was called with, before it returns. 0: not a JSON-RPC message. */
  int (*set_message)(lineward_exchange*, lineward_text bytes);
  /* Before a hook returns LINEWARD_WAIT, once; null when nothing is to be decided now. */
  lineward_ticket* (*begin_wait)(lineward_exchange*);
  /* From any thread, exactly once for each ticket, also when the exchange is over by then. */
  void (*resume)(lineward_ticket*, const lineward_decision*);
} lineward_host_api;

/* What a plugin does. `size` and `abi` are the same in all numbers of this interface. */
typedef struct lineward_plugin_api {
  size_t size;
  uint32_t abi;        /* LINEWARD_PLUGIN_ABI as it was built */
  const char* name;    /* ended by a zero */
  const char* version; /* likewise */
  /* Null: `why` (a buffer, to be ended by a zero) says what is wrong with the options. */
  lineward_plugin* (*create)(const lineward_host_api*, lineward_host*, const lineward_config*, char* why,
                             size_t why_size);
  /* No hook is left by then. Threads of the plugin must be gone when it returns. */
  void (*destroy)(lineward_plugin*);
  /* Null: not interested in this exchange, which goes on without the plugin. Who cannot tell returns a hook
   * that says LINEWARD_FAILED. */
  lineward_hook* (*attach)(lineward_plugin*, lineward_exchange*);
  int (*on_client_message)(lineward_hook*, lineward_exchange*, const lineward_message*);
  int (*on_upstream_message)(lineward_hook*, lineward_exchange*, const lineward_message*);
  /* Exactly once for each hook, before detach(). */
  void (*on_end)(lineward_hook*, lineward_exchange*, const lineward_ending*);
  void (*detach)(lineward_hook*);
  /* May be null. Header fields that it reads of clients' requests: add() each, in lower case; at most 32. */
  void (*headers)(lineward_plugin*, void (*add)(void* with, lineward_text name), void* with);
  /* May be null. Counters for /metrics: add() each; at most 32, names of letters, digits and '_'. */
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
