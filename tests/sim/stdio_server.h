// A process of a stdio server, of either era.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "script.h"
#include "world.h"
#include "writer.h"

namespace lineward::sim {

class StdioServer final : public Program,
                          public Script::Stage,
                          public std::enable_shared_from_this<StdioServer> {
 public:
  StdioServer(World& world, Ledger& ledger, const ServerPlan& plan, size_t index,
              std::shared_ptr<Child> child);
  void begin();  // starts after a while
  void started(int64_t) override {}
  void told(char signal) override;
  // By itself: code, or signal.
  void exit(int code, int signal);
  void stall(Time until);
  // Notifies all listens.
  void pulse();
  size_t listens() const { return listens_.size() + uris_.size(); }
  bool running() const { return child_ != nullptr; }
  size_t index() const { return index_; }

 private:
  void read();
  void line(const std::string& text, Time sent);
  void call(const Json& message, const std::string& text, Time sent);
  void write(const std::string& message) { out_->write(message + "\n"); }
  // Stage
  void send(Script& script, std::string message, bool last, std::function<void()> read) override;
  void garbage(Script& script) override;
  void die(Script& script) override;
  void close(Script& script) override { die(script); }
  bool may_ask(Script& script) override { return plan_.modern ? script.attempt().may_be_asked : asks_; }
  Time arrival() const override { return child_ ? child_->out->to_gateway.last_arrival() : world_.now(); }
  void over(Script& script) override;

  World& world_;
  Ledger& ledger_;
  const ServerPlan& plan_;
  size_t index_;
  std::shared_ptr<Child> child_;
  std::unique_ptr<Writer> out_;
  std::string buffer_;
  Time line_began_ = 0;                                     // when its first byte was written
  std::map<std::string, std::unique_ptr<Script>> scripts_;  // by id
  std::map<std::string, Listen> listens_;                   // modern, by id
  std::map<std::string, bool> uris_;                        // legacy
  bool ready_ = false;
  bool asks_ = false;  // its client can be asked
  bool dead_ = false;
  int64_t pid_ = 0;
};

}  // namespace lineward::sim
