// The command table of the wire language. The parser checks scripts against it, `wire-runner --manual` prints
// it, and a test compares that with README.md.
#include "script.h"

namespace lineward::wire {

const std::vector<VerbSpec>& verb_table() {
  constexpr unsigned all = top | upstream | client | origin;
  constexpr unsigned peers = upstream | client | origin;
  static const std::vector<VerbSpec> table = {
      // every peer, and the script itself
      {all, "expect", "PATH OP [VALUE]",
       "compare; OP is == != < <= > >= (JSON meaning; bytes for text and .raw), contains, ~ or !~ (regex), "
       "exists, absent",
       2, 3, "", ""},
      {all, "barrier", "NAME sync | NAME COUNT",
       "wait until every block that names this barrier is there (or COUNT of them, where the script says so)",
       2, 2, "", ""},
      {all, "loop", "N { … }", "run the block N times; ${i} counts from 0", 1, 1, "", "", BlockOf::same},
      {all, "within", "MS { … }", "the block must be done after MS milliseconds", 1, 1, "", "",
       BlockOf::same},
      {all, "mark", "", "start the clock that `elapsed` (milliseconds) reads", 0, 0, "", ""},
      {all, "set", "NAME [-times N] [-text] VALUE",
       "give a value (N times over; a JSON string without its quotes) a name, for ${NAME} everywhere", 2, 2,
       "text", "times"},
      {all, "file", "NAME TEXT", "write a file of that name into ${tmp}, in place of one that is there", 2, 2,
       "", ""},
      {all, "note", "TEXT", "write a line into the record that is printed on failure", 1, 1, "", ""},

      // the script
      {top, "wiretest", "TITLE", "the first line of a script: the behaviour, as a sentence", 1, 1, "", ""},
      {top, "timeout", "DURATION", "the limit of the whole script (default 45s, at most 55s)", 1, 1, "", ""},
      {top, "upstream", "NAME -stdio [-era modern|legacy | -raw] [OPTIONS] { … }",
       "an MCP server, played by the runner: its command line is ${NAME.command}; the block begins after the "
       "handshake "
       "of the first real process. -auto {\"METHOD\": RESULT, …} answers these requests by itself, "
       "-discover-result "
       "and -init-result replace the handshake's; `upstream NAME "
       "-wait` waits for its blocks",
       1, 1, "stdio http raw start wait no-session hold-get", "era auto discover-result init-result",
       BlockOf::upstream},
      {top, "upstream", "NAME -http [-era modern|legacy | -raw] [OPTIONS] { … }",
       "an HTTP MCP server on a loopback port, played by the runner: ${NAME.url}, .addr, .port, "
       ".connections; "
       "its block runs from here on. Options as above, and for -era legacy: -no-session (initialize gives no "
       "session id), -hold-get (the GET stream is held open instead of 405)",
       1, 1, "", "", BlockOf::upstream},
      {top, "client", "NAME [-connect ADDR] [-from ADDR] [-first TEXT] [-tls] { … } -start | -run",
       "an MCP client (default address: ${g1.addr}); -start runs it beside, -run waits for it, `client NAME "
       "-wait` "
       "waits later; -from: the address of this machine that it comes from; -first: the first bytes of each "
       "of "
       "its connections, before TLS; -stdio GATEWAY: the one that "
       "started this gateway, on its stdin and stdout; -tls: its connections speak TLS (shutdown is a "
       "close_notify), -tls-cert FILE: with the client certificate and key in this PEM file",
       1, 1, "start run wait tls", "connect from first stdio tls-cert", BlockOf::client},
      {top, "gateway",
       "NAME [-upstream U | -conf { YAML }] [-args WORDS] [-stdio] [-keep-workers REASON] -start, then "
       "-signal/-kill/…",
       "the binary under test; -stdio: as the stdio server of a client. -upstream U gives it U's command "
       "line or URL, -conf a configuration file, -args more "
       "flags; -keep-workers: LINEWARD_WORKERS does not change its `workers`, for this REASON. "
       "Later: -signal NAME, -reload { YAML } (another configuration file, SIGHUP, and the log line about "
       "it), "
       "-kill (SIGKILL), -wait-exit CODE, -expect-log REGEX (waits for the line), "
       "-no-log REGEX, "
       "-log-count {N REGEX}",
       1, 1, "start kill stdio",
       "upstream conf args keep-workers signal reload wait-exit expect-log no-log log-count"},
      {top, "expect-no-process", "TAG", "no process with TAG in its arguments or environment is left (waits)",
       1, 1, "", ""},
      {top, "allow-leftovers", "", "do not fail when processes are left at the end of the script", 0, 0, "",
       ""},

      // upstream: processes
      {upstream, "instance", "N | * { … }",
       "what the N-th real process does (* = any other); the rest of the block is 1", 1, 1, "", "",
       BlockOf::same},
      {upstream, "exit", "CODE", "end the process", 1, 1, "", ""},
      {upstream, "kill", "", "kill the process with SIGKILL", 0, 0, "", ""},
      {upstream, "closestdout", "", "close stdout and live on", 0, 0, "", ""},
      {upstream, "ignoreterm", "", "live on after SIGTERM and after the end of stdin", 0, 0, "", ""},
      {upstream, "reading", "on | off", "read stdin, or leave the bytes in the pipe", 1, 1, "", ""},
      {upstream, "fork-sleeper", "[-setsid] [-hold-stdout]",
       "start a grandchild that sleeps (in its own session; keeping stdout open)", 0, 0, "setsid hold-stdout",
       ""},
      {upstream, "stderr", "TEXT", "write a line to stderr", 1, 1, "", ""},
      {upstream, "expect-eof", "", "the next thing that comes is the end of stdin", 0, 0, "", ""},
      {upstream, "expect-term", "", "SIGTERM comes (messages before it are a failure)", 0, 0, "", ""},
      {upstream, "expect-killed", "", "the process is ended from outside", 0, 0, "", ""},
      // upstream: bytes
      {peers, "sendline", "TEXT", "write TEXT and a line end, as it is", 1, 1, "", ""},
      {upstream, "sendbytes", "TEXT", "write TEXT without a line end", 1, 1, "", ""},
      {upstream, "sendhex", "HEX", "write bytes", 1, 1, "", ""},
      {upstream, "sendsplit", "N TEXT",
       "write TEXT and a line end, N bytes at a time, each read before the next", 2, 2, "", ""},
      {upstream, "recvline", "", "the next line, whatever it is: `line`, `line.text`", 0, 0, "", "as"},
      // upstream: messages
      {upstream, "recvcall", "[-as A] [METHOD]", "the next message must be a request: `call`, A", 0, 1, "",
       "as"},
      {upstream, "recvnotify", "[-as A] METHOD", "the next message must be this notification: `notify`, A", 1,
       1, "", "as"},
      {upstream, "recvresponse", "[-as A] [ID]",
       "the next message must be the answer to our request: `response`, A", 0, 1, "", "as"},
      {upstream, "sendresult", "-to A JSON", "answer request A", 1, 1, "", "to"},
      {upstream, "senderror", "-to A CODE TEXT", "answer request A with an error", 2, 2, "", "to"},
      {upstream, "sendnotify", "METHOD [PARAMS]", "send a notification", 1, 2, "", ""},
      {upstream, "sendrequest", "ID METHOD [PARAMS]", "send a request of the server", 2, 3, "", ""},
      {upstream, "sendprogress", "-to A N", "send notifications/progress with A's token", 1, 1, "", "to"},
      {upstream, "recvcancel", "-of A [-reason REGEX] [-modern]",
       "the next message is notifications/cancelled for A's id (with a text, and -modern: a full _meta)", 0,
       0, "modern", "of reason"},

      // HTTP origin: connections
      {origin, "rxreq", "[-as A] [-among] [METHOD]",
       "the next request, on whatever connection; METHOD (of HTTP or JSON-RPC) must be right: `A` is its "
       "JSON, "
       "`A.method` (HTTP), `A.path`, `A.header.NAME`, `A.body`, `A.json`, `A.raw`, `A.conn` (number of its "
       "connection); without -as: `req`. -among: the first of that METHOD, others may have come before it "
       "(two connections have no order)",
       0, 1, "among", "as"},
      {origin, "accept", "[-as C]",
       "the next connection that no `accept` has named yet, with or without a request: C, `C.conn`", 0, 0, "",
       "as"},
      {origin, "expect-close", "[-to A]", "the gateway closes that connection", 0, 0, "", "to"},
      {origin, "expect-open", "[-to A] MS", "the gateway does not close that connection for MS milliseconds",
       1, 1, "", "to"},
      {origin, "close", "[-to A]", "close that connection (FIN)", 0, 0, "", "to"},
      {origin, "reset", "[-to A]", "close that connection (RST)", 0, 0, "", "to"},
      {origin, "shutdown", "[-to A]", "end our direction only", 0, 0, "", "to"},
      {origin, "vanish", "[-to A]", "the machine at our end is gone: nothing is taken, nor acknowledged", 0,
       0, "", "to"},
      {origin, "reading", "on | off", "read from all connections, or leave the bytes in the sockets", 1, 1,
       "", ""},
      {origin, "refuse", "", "stop listening: connections are refused", 0, 0, "", ""},
      {origin, "listen", "", "listen again, on the same port", 0, 0, "", ""},
      // HTTP origin: answers; without -to they go to the latest request or connection
      {origin, "txresp", "[-to A] STATUS [-hdr \"K: V\"]… [-body TEXT]",
       "a whole response with these headers and Content-Length", 1, 1, "", "to hdr body"},
      {origin, "txjson", "[-to A] [-status N] [-hdr \"K: V\"]… TEXT", "the same as application/json", 1, 1,
       "", "to status hdr"},
      {origin, "txhead", "[-to A] STATUS [-hdr \"K: V\"]…", "only a head (1xx too), with these headers alone",
       1, 1, "", "to hdr"},
      {origin, "txchunk", "[-to A] TEXT", "one chunk of the chunked coding", 1, 1, "", "to"},
      {origin, "send", "[-to A] TEXT", "write bytes", 1, 1, "", "to"},
      {origin, "sendhex", "[-to A] HEX", "write bytes", 1, 1, "", "to"},
      {origin, "split", "N",
       "write everything N bytes at a time from now on, each read before the next (0 = whole)", 1, 1, "", ""},
      {origin, "txsse-head", "[-to A] [-hdr \"K: V\"]… [-until-close]",
       "open an event stream: chunked, or until the connection closes", 0, 0, "until-close", "to hdr"},
      {origin, "txevent", "[-to A] [-event TYPE] [-id ID] [-retry MS] [DATA]",
       "one event (a chunk of its own); line breaks in DATA make several data lines", 0, 1, "",
       "to event id retry"},
      {origin, "txcomment", "[-to A] TEXT", "one comment", 1, 1, "", "to"},
      {origin, "txend", "[-to A]", "end the event stream or the chunked body", 0, 0, "", "to"},
      // HTTP origin: messages
      {origin, "sendresult", "[-to A] [-open] JSON",
       "answer A: as JSON, or as the last event of its stream (-open: the stream does not end)", 1, 1, "open",
       "to"},
      {origin, "senderror", "[-to A] [-open] CODE TEXT", "answer A with an error, likewise", 2, 2, "open",
       "to"},
      {origin, "sendnotify", "[-to A] METHOD [PARAMS]",
       "a notification on A's stream, which is opened when needed", 1, 2, "", "to"},
      {origin, "sendrequest", "[-to A] ID METHOD [PARAMS]", "a request of the server, likewise", 2, 3, "",
       "to"},
      {origin, "sendprogress", "[-to A] N", "notifications/progress with A's token, likewise", 1, 1, "",
       "to"},

      // every peer
      {peers, "expect-none", "MS", "nothing comes for MS milliseconds", 1, 1, "", ""},

      // client: bytes
      {client, "connect", "[ADDR]",
       "a new connection in place of the current one (made by itself when needed)", 0, 1, "", ""},
      {client, "use", "NAME", "switch to another connection of this client", 1, 1, "", ""},
      {client, "send", "TEXT", "write bytes", 1, 1, "", ""},
      {client, "sendhex", "HEX", "write bytes", 1, 1, "", ""},
      {client, "split", "N",
       "write everything N bytes at a time from now on, each read before the next (0 = whole)", 1, 1, "", ""},
      {client, "recv", "N", "read N bytes: `recv`", 1, 1, "", ""},
      {client, "close", "", "close the connection (FIN); stdio: end the gateway's stdin", 0, 0, "", ""},
      {client, "reset", "", "close the connection (RST); stdio: close our end of its stdout", 0, 0, "", ""},
      {client, "shutdown", "", "end our direction only", 0, 0, "", ""},
      {client, "vanish", "", "the machine at our end is gone: nothing is taken, nor acknowledged", 0, 0, "",
       ""},
      {client, "expect-close", "[-any]",
       "the gateway closes the connection, no byte before that (-any: whatever comes before that)", 0, 0,
       "any", ""},
      // client: HTTP
      {client, "txreq", "METHOD PATH [-hdr \"K: V\"]… [-body TEXT]",
       "send a request with only these headers and Host", 2, 2, "no-host", "hdr body"},
      {client, "rxhead", "", "read a response head: `resp.status`, `resp.header.NAME`", 0, 0, "", ""},
      {client, "rxresp", "", "read a whole response: also `resp.body`, `resp.json`, `resp.raw`", 0, 0, "",
       ""},
      // client: SSE
      {client, "rxevent", "",
       "the next event with data (comments are passed over): `event.data .json .raw .id .type`", 0, 0, "any",
       ""},
      {client, "rxcomment", "", "the next thing in the stream must be a comment: `event.comment`", 0, 0, "",
       ""},
      {client, "rxend", "", "the stream ends here", 0, 0, "", ""},
      // client: MCP
      {client, "rxanswer", "",
       "read a whole response, JSON or SSE; the last JSON-RPC message is `answer` (`answer.raw.id`: its "
       "bytes); stdio: the next line must be an answer",
       0, 0, "", "as"},
      {client, "rxnotify", "[-as A] METHOD", "stdio: the next line must be this notification: `notify`, A", 1,
       1, "", "as"},
      {client, "rxrequest", "[-as A] METHOD",
       "stdio: the next line must be this request of the server: `request`, A", 1, 1, "", "as"},
      {client, "modern", "-id ID METHOD [PARAMS]",
       "POST a 2026-07-28 request with all headers and _meta. -caps JSON, -token T (progress), -meta "
       "{MEMBERS}, -hdr, "
       "-no-hdr NAME, -no-meta, -version V",
       1, 2, "no-meta", "id caps token meta hdr no-hdr version"},
      {client, "modern-notify", "METHOD [PARAMS]",
       "POST a notification as modern clients do; expects 202 (-status)", 1, 2, "", "status hdr"},
      {client, "legacy-init", "[-version V] [-caps JSON]",
       "initialize and notifications/initialized; keeps the session: ${NAME.session}, `answer`", 0, 0,
       "no-initialized", "version caps"},
      {client, "at", "PATH", "requests of this client go to PATH from here on (at first: /mcp)", 1, 1, "",
       ""},
      {client, "every-request", "\"K: V\"", "a header of every request of this client from here on", 1, 1, "",
       ""},
      {client, "session", "ID", "use this legacy session", 1, 1, "", "version"},
      {client, "legacy", "-id ID METHOD [PARAMS]", "POST a request in the session. -token T, -hdr, -no-hdr",
       1, 2, "", "id token hdr no-hdr"},
      {client, "legacy-notify", "METHOD [PARAMS]",
       "POST a notification on a connection of its own; expects 202 (-status)", 1, 2, "", "status hdr"},
      {client, "respond", "ID RESULT", "POST the answer to a server's request; expects 202 (-status)", 2, 2,
       "", "status"},
      {client, "get-stream", "[-last ID]", "GET the session's stream; follow with rxhead", 0, 0, "",
       "last hdr"},
      {client, "delete-session", "", "DELETE the session; expects 200, 202 or 204 (-status)", 0, 0, "",
       "status"},
  };
  return table;
}

const VerbSpec* find_verb(unsigned side, std::string_view name) {
  for (const auto& row : verb_table()) {
    if ((row.sides & side) && row.name == name) return &row;
  }
  return nullptr;
}

std::string manual() {
  struct Chapter {
    std::string_view title;
    bool (*has)(unsigned);
  };
  static constexpr Chapter chapters[] = {
      {"Everywhere", [](unsigned s) { return s == (top | upstream | client | origin); }},
      {"The script", [](unsigned s) { return s == top; }},
      {"In an upstream's block", [](unsigned s) { return (s & upstream) && !(s & top); }},
      {"In an HTTP origin's block", [](unsigned s) { return (s & origin) && !(s & top); }},
      {"In a client's block", [](unsigned s) { return (s & client) && !(s & top); }},
  };
  std::string out;
  for (const auto& chapter : chapters) {
    out += "\n### " + std::string(chapter.title) + "\n\n";
    for (const auto& row : verb_table()) {
      if (!chapter.has(row.sides)) continue;
      out += "- `" + std::string(row.name) + (row.usage.empty() ? "" : " " + std::string(row.usage)) + "`: ";
      out += std::string(row.help) + "\n";
    }
  }
  return out;
}

}  // namespace lineward::wire
