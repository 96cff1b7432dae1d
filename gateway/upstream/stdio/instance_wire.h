// The way to one process of a stdio server, for the parts of a StdioInstance that write to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "mcp/revision.h"
#include "upstream/shared/process_end.h"

namespace lineward::upstream {

class InstanceWire {
 public:
  virtual mcp::Era era() const = 0;
  virtual void write(std::string message) = 0;  // flattened to one line
  // The same for what may be dropped: false when the server is far behind with reading.
  virtual bool write_small(std::string message) = 0;
  // The answer to a server's own request; one that does not read them is ended.
  virtual void answer_server(std::string message) = 0;
  // Of the bytes that were written to it: those that the server has not read yet, and those that it has.
  struct StdinState {
    size_t owed = 0;
    uint64_t taken = 0;
  };
  virtual StdinState stdin_state() const = 0;
  // A place became free: there may be something to send.
  virtual void tell_free() = 0;
  virtual void stop(const ProcessEnd& why) = 0;

 protected:
  ~InstanceWire() = default;
};

}  // namespace lineward::upstream
