// An example plugin: listed tools need an approval before they are called. Here a thread approves everything
// except what its options forbid; a real plugin would ask a person or a service.
//
//   plugins:
//     - path: ./approval.so
//       options: { ask: "delete,drop", forbid: drop }
#include <lineward/plugin.hpp>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <thread>

using namespace lineward::plugin;

namespace {

std::set<std::string> words(const std::string& text) {
  std::set<std::string> out;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, ',');)
    out.insert(word);
  return out;
}

class Approval final : public Plugin {
 public:
  Approval(const Config& config, Host host)
      : ask(words(config.option("ask"))), forbid_(words(config.option("forbid"))), host_(host) {
    for (const auto& [name, value] : config.options) {
      if (name != "ask" && name != "forbid") throw std::runtime_error("there is no option " + name);
    }
    thread_ = std::thread([this] { work(); });
  }
  ~Approval() override {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      over_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }

  std::unique_ptr<Hook> attach(Exchange& exchange) override;
  std::vector<std::string> headers() const override { return {"x-team"}; }
  std::vector<Counter> counters() const override { return {{"asked", static_cast<double>(asked_)}}; }

  void decide_later(std::string tool, Ticket ticket) {
    ++asked_;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      open_.emplace_back(std::move(tool), std::move(ticket));
    }
    wake_.notify_one();
  }

  const std::set<std::string> ask;

 private:
  void work() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this] { return over_ || !open_.empty(); });
      if (over_) return;
      auto [tool, ticket] = std::move(open_.front());
      open_.pop_front();
      lock.unlock();
      if (forbid_.count(tool) != 0) {
        ticket.refuse({Reason::forbidden, tool + " was not approved"});
      } else {
        host_.log(Level::info, "approved " + tool);
        ticket.proceed();
      }
      lock.lock();
    }
  }

  const std::set<std::string> forbid_;
  Host host_;
  uint64_t asked_ = 0;  // used on the loop's thread
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::pair<std::string, Ticket>> open_;
  bool over_ = false;
  std::thread thread_;
};

class Asking final : public Hook {
 public:
  explicit Asking(Approval& approval) : approval_(approval) {}
  Verdict on_client_message(Exchange& exchange, Message&) override {
    Ticket ticket = exchange.wait();
    if (!ticket) return Verdict::proceed;
    std::string team(exchange.header("x-team"));
    if (!team.empty()) exchange.set_upstream_header("X-Approved-For", team);
    exchange.add_reply_header("X-Approval", "asked");
    approval_.decide_later(std::string(exchange.facts().target), std::move(ticket));
    return Verdict::wait;
  }

 private:
  Approval& approval_;
};

std::unique_ptr<Hook> Approval::attach(Exchange& exchange) {
  Facts facts = exchange.facts();
  bool mine = facts.method == "tools/call" && ask.count(std::string(facts.target)) != 0;
  return mine ? std::make_unique<Asking>(*this) : nullptr;
}

}  // namespace

LINEWARD_PLUGIN(Approval, "approval", "1.0")
