// Common part of both kinds of servers: the messages of one call, in the order of its plan.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "json_text.h"
#include "ledger.h"

namespace lineward::sim {

// A call at a server. Made when its request came, destroyed with its connection or process, or when it is
// over.
class Script {
 public:
  // How its messages go out; the transport's.
  class Stage {
   public:
    virtual ~Stage() = default;
    // `last`: the answer. Calls `read` when the gateway has read all of it.
    virtual void send(Script& script, std::string message, bool last, std::function<void()> read) = 0;
    virtual void garbage(Script& script) = 0;
    virtual void die(Script& script) = 0;
    virtual void close(Script& script) = 0;
    // Can the client be asked by this server, and does a request of the server reach it?
    virtual bool may_ask(Script& script) = 0;
    // When what was sent last arrives at the gateway.
    virtual Time arrival() const = 0;
    // It is over and may be destroyed.
    virtual void over(Script& script) = 0;
  };
  Script(World& world, Ledger& ledger, Stage& stage, bool modern, CallRecord& record, Attempt& attempt,
         std::string raw_id, std::string token);
  // A modern server's call that goes on brings answers in its params.
  void begin(const Json& params);
  // The gateway takes it back.
  void cancelled();
  // The answer to its question.
  void replied(const Json& message);
  const std::string& asks() const { return asks_; }
  const std::string& id() const { return raw_id_; }
  Attempt& attempt() { return attempt_; }
  CallRecord& record() { return record_; }

 private:
  void next();
  void answer(Op::Kind kind);
  void ask();
  World& world_;
  Ledger& ledger_;
  Stage& stage_;
  bool modern_;
  CallRecord& record_;
  Attempt& attempt_;
  std::string raw_id_, token_;
  size_t at_ = 0;
  int told_ = 0;  // progress, by this try and those that it goes on with
  bool stopped_ = false;
  std::string last_;
  std::string asks_;  // the id of its question, as JSON
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

// The URI that a client listens to.
std::string uri_of(size_t client);
constexpr size_t kNoClient = 99;  // no client is this one
// The notifications of a modern listen.
struct Listen {
  std::vector<std::string> uris;
  bool tools = false, prompts = false;
};
// The tool that a call names, and what its server says of the two there are.
const char* tool_of(const CallPlan& call);
// Notifications of a server about it, and about its tools; `listen`: the id of a modern listen, as JSON, or
// empty.
std::string updated(const std::string& uri, const std::string& listen);
std::string list_changed(const char* list, const std::string& listen);
std::string acknowledged(const Json& notifications, const std::string& listen);
// The answers that all servers give alike to what is no call.
// `asker`: the name of the requesting client, which a list repeats; and when.
std::string answer_to(const ServerPlan& plan, const std::string& method, const std::string& raw_id,
                      const std::string& asker, Time now);
// The client that a request names.
std::string asker_of(const Json& message);
std::string reply(const std::string& raw_id, const std::string& result);
std::string refusal(const std::string& raw_id, int code, const std::string& text);

}  // namespace lineward::sim
