// The command line's flags, not validated yet.
#pragma once

#include <string>
#include <vector>

namespace lineward::cli {

struct Flags {
  std::string file;
  std::string config;  // --config, --mcp-config or --named-server-config
  std::vector<std::string> server_words;
  bool has_server = false;  // there was a `--`, or --stdio

  std::string listen, path, start, timeout, max_duration, ops, admin, log_format, log_level, isolation,
      protocol_era;
  std::string name, cwd;
  std::string url;
  std::string server;                // --server: one of several
  std::vector<std::string> headers;  // "Name: value", unexpanded; may be secrets
  std::vector<std::string> env;
  bool exit_with_upstream = false;
  bool exit_with_parent = false;
  bool watch = false;
  bool tls_self_signed = false;
  bool share = false;
  std::string linger;

  // Flags of supergateway and mcp-proxy.
  std::string stdio, port, http_path, output_transport, their_log_level, mcp_config, named_config;

  std::string help = "lineward run --help";  // the help command named in errors
  std::string color = "auto";
  std::string format;
  bool quiet = false;
  bool verbose = false;
  bool strict = false;
};

}  // namespace lineward::cli
