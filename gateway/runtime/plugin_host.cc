#include "runtime/plugin_host.h"

#include <algorithm>
#include <utility>

#include "foundation/log/redaction.h"
#include "foundation/net/lifetime.h"
#include "proxy/upstream/http_client/web_fetch.h"

namespace lineward::runtime {
namespace {

// An error found at once is reported like any other: later.
class Task final : public plugin::WebTask {
 public:
  using Done = std::function<void(plugin::WebAnswer)>;
  Task(net::Loop& loop, std::shared_ptr<net::TlsContext> tls, plugin::WebRequest request, Done done)
      : loop_(loop), method_(std::move(request.method)), done_(std::move(done)) {
    std::string fault = upstream::secure_url_fault(request.url);
    if (!fault.empty()) {
      loop_.defer(lifetime_, [this, fault] { std::exchange(done_, nullptr)({0, fault, {}, {}}); });
      return;
    }
    upstream::WebRequest wanted;
    wanted.url = std::move(request.url);
    wanted.method = method_;
    for (auto& [name, value] : request.headers)
      wanted.headers.push_back({name, value});
    wanted.body = std::move(request.body);
    wanted.limit = request.limit;
    fetch_ = std::make_unique<upstream::WebFetch>(
        loop_, std::move(tls), std::move(wanted), [this](upstream::WebAnswer answer) {
          std::exchange(done_, nullptr)(
              {answer.status, std::move(answer.fault), std::move(answer.body), answer.retry_after});
        });
  }
  ~Task() override {
    // The fetch may be on the stack.
    if (fetch_) {
      fetch_->drop();
      loop_.retire(std::move(fetch_));
    }
  }

 private:
  net::Loop& loop_;
  std::string method_;
  Done done_;
  std::unique_ptr<upstream::WebFetch> fetch_;
  net::Lifetime lifetime_;
};

}  // namespace

std::unique_ptr<plugin::WebTask> PluginHost::fetch(plugin::WebRequest request,
                                                   std::function<void(plugin::WebAnswer)> done) {
  std::shared_ptr<net::TlsContext>& tls = tls_[request.ca_file];
  if (!tls && request.url.rfind("https:", 0) == 0) {
    auto made = net::TlsContext::for_client({request.ca_file, {}, {}});
    if (made) tls = *made;
  }
  return std::make_unique<Task>(loop_, tls, std::move(request), std::move(done));
}

std::string PluginHost::redacted(std::string_view json) const {
  return redaction::apply(json);
}

void PluginHost::linger(std::vector<std::shared_ptr<plugin::PluginSet::Member>> retired) {
  for (auto& member : retired)
    lingering_.push_back({std::move(member), std::nullopt});
  while (lingering_.size() > kMostLingering)
    lingering_.pop_front();
  if (!lingering_.empty() && !linger_timer_.running()) look_at_lingering();
}

void PluginHost::look_at_lingering() {
  constexpr std::chrono::milliseconds kOften{250};
  linger_timer_.start(kOften, [this] {
    std::erase_if(lingering_, [this](Lingering& one) {
      if (one.member.use_count() > 1) return false;
      if (!one.until) one.until = loop_.now() + kLonger;
      return !one.member->plugin->is_finishing() || loop_.now() >= *one.until;
    });
    if (!lingering_.empty()) look_at_lingering();
  });
}

void PluginHost::end(const std::vector<std::shared_ptr<plugin::PluginSet::Member>>& members,
                     std::function<void()> done) {
  ended_ = std::move(done);
  // Plugins of former configurations too: else the end would wait for their pauses in vain.
  for (const Lingering& one : lingering_)
    one.member->plugin->ending();
  for (const auto& member : members) {
    member->plugin->ending();
    if (member->plugin->is_finishing()) lingering_.push_back({member, std::nullopt});
  }
  // From the next turn on: a final read of all metrics may have taken time.
  farewell_.start(std::chrono::milliseconds(0), [this] {
    farewell_until_ = loop_.now() + kFarewell;
    look_at_ending();
  });
}

void PluginHost::look_at_ending() {
  constexpr std::chrono::milliseconds kOften{20};
  const bool busy = std::any_of(lingering_.begin(), lingering_.end(),
                                [](const Lingering& one) { return one.member->plugin->is_finishing(); });
  if (!busy || loop_.now() >= farewell_until_) return std::exchange(ended_, nullptr)();
  farewell_.start(kOften, [this] { look_at_ending(); });
}

std::shared_ptr<void> PluginHost::add_redactor(Redactor redactor) {
  return redaction::add(std::move(redactor));
}

}  // namespace lineward::runtime
