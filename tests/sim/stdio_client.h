// The client of a gateway that serves stdin and stdout, of either era: one pipe, on which ids name its calls.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "client.h"
#include "writer.h"

namespace lineward::sim {

class StdioClient final : public Client {
 public:
  // `in` is the gateway's stdin, `out` its stdout.
  StdioClient(World& world, Ledger& ledger, const Plan& plan, size_t index, std::shared_ptr<Link> in,
              std::shared_ptr<Link> out);
  ~StdioClient() override;
  void begin() override;
  // Closes the pipe that it writes to; whatever is under way is over with that.
  void leave() override;

 private:
  struct Running {
    CallRecord* record;
    std::string token;
  };
  void read();
  void gateway_gone();
  void line(const std::string& text);
  void answered(const std::string& raw_id, const Json& message, const std::string& text);
  void told(const Json& message, const std::string& text);
  void question(const Json& message, const std::string& text);
  void initialize(int tries);
  void initialized(const Json& message, int tries);
  void call(const CallPlan& call, const std::string& answers) override;
  void leave_call(CallRecord& record, const std::string& raw_id);
  void listen();
  void list();
  void write(const std::string& message);
  void ask(const std::string& raw_id, const std::string& method, const std::string& params,
           std::function<void(const Json&)> then);

  std::shared_ptr<Link> in_, out_;
  std::unique_ptr<Writer> writer_;
  std::string buffer_;
  std::map<std::string, Running> calls_;  // by raw id; they stay, so that what comes late is known
  std::map<std::string, std::function<void(const Json&)>> own_;  // other requests
  std::vector<const CallPlan*> waiting_;                         // for the session
  bool session_open_ = false, left_ = false;
  size_t rounds_ = 0;
  uint64_t last_own_ = 800'000;  // apart from the ids of calls and their retries
};

}  // namespace lineward::sim
