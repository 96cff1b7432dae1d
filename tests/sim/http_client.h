// A client over HTTP, of either era: its connections, its session, its calls.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "client.h"
#include "http2_front.h"
#include "http_text.h"
#include "ledger.h"
#include "script.h"
#include "writer.h"

namespace lineward::sim {

class HttpClient final : public Client {
 public:
  HttpClient(World& world, Ledger& ledger, const Plan& plan, size_t index);
  ~HttpClient() override;
  void begin() override;
  void leave() override;

 private:
  class Connection;
  // The subject of a request, for the reader of its answer.
  struct Exchange {
    CallRecord* record = nullptr;  // null: something of the session, or several
    const CallPlan* plan = nullptr;
    std::string raw_id, token;
    std::string answers;  // of a retry
    // Its question has come, and the next round may be under way before the last byte of this one is here.
    bool asked = false;
    bool listen = false;  // a listen, or the stream of a session
    std::function<void(int status, const Head& head, const Json& message)> done;  // of the session
    std::function<void(int status)> on_status;
    std::vector<Exchange> together;  // the calls of a batch
  };
  // A request that is about to be sent.
  struct Prepared {
    Exchange exchange;
    std::string body, fields;
  };
  std::string path(size_t server) const;
  std::string request(const std::string& verb, size_t server, const std::string& extra,
                      const std::string& body) const;
  std::string request_to(const std::string& verb, const std::string& path, const std::string& extra,
                         const std::string& body) const;
  std::string session_fields() const;
  std::string key() const;
  std::shared_ptr<Connection> connection(bool fresh);
  std::shared_ptr<Link> dial();
  std::shared_ptr<Link> stream(bool fresh);
  void lose(const Link& link, bool reset);
  void open_session(int tries);
  void listen();
  void listen_ended();
  void list(int tries);
  void heard(const Json& message, const Exchange& exchange, const std::string& text);
  void call(const CallPlan& call, const std::string& answers) override;
  Prepared prepare(const CallPlan& call, const std::string& answers);
  void sent(CallRecord& record, const std::string& raw_id, const std::shared_ptr<Connection>& over,
            size_t bytes);
  void leave_early(const CallPlan& call, CallRecord& record, const std::string& raw_id,
                   const std::shared_ptr<Connection>& over);
  void call_together(int batch);
  void stray(const Stray& stray);
  void answer(const CallPlan& call, const std::string& raw_id, const std::string& tag);
  void cancel(CallRecord& record, const std::string& raw_id);
  void aside(const std::string& verb, const std::string& body, std::function<void()> read,
             std::function<void(int, const Head&, const Json&)> done, const std::string& fields = {});

  Random random_;
  std::vector<std::shared_ptr<Connection>> connections_;
  std::vector<std::shared_ptr<Http2Front>> fronts_;
  uint64_t last_connection_ = 0;
  size_t rounds_ = 0;  // retries of all its calls
  std::string session_, version_;
  bool session_open_ = false;
  std::vector<const CallPlan*> waiting_;
  std::map<int, std::vector<const CallPlan*>> batches_;  // which go in this turn
  bool left_ = false;
  std::shared_ptr<Connection> listening_;
};

}  // namespace lineward::sim
