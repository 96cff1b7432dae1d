// The write interface to one process of a stdio server, for the parts of a StdioInstance.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "protocol/mcp/revision.h"
#include "proxy/upstream/shared/process_end.h"

namespace lineward::upstream {

class InstanceWire {
 public:
  virtual mcp::Era era() const = 0;
  virtual void write(std::string message) = 0;  // flattened to one line
  // The same for messages that may be dropped: false if the server's unread backlog is too large.
  virtual bool write_small(std::string message) = 0;
  // The answer to a server's own request. A server that does not read its answers is ended.
  virtual void answer_server(std::string message) = 0;
  // Bytes written to its stdin: those not read yet, and those read.
  struct StdinState {
    size_t owed = 0;
    uint64_t taken = 0;
  };
  virtual StdinState stdin_state() const = 0;
  // A place became free: a queued call may be sent.
  virtual void tell_free() = 0;
  virtual void stop(const ProcessEnd& why) = 0;

 protected:
  ~InstanceWire() = default;
};

}  // namespace lineward::upstream
