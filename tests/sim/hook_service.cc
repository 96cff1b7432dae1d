#include "hook_service.h"

#include <string>
#include <utility>

#include "http_text.h"
#include "writer.h"

namespace lineward::sim {

class HookService::Connection final : public std::enable_shared_from_this<Connection> {
 public:
  Connection(HookService& service, std::shared_ptr<Link> link)
      : service_(service), link_(std::move(link)), out_(link_) {
    reader_.on_done = [this] { asked(); };
  }
  ~Connection() { link_->from_gateway.on_ready = nullptr; }
  void begin() {
    link_->from_gateway.on_ready = [weak = weak_from_this()] {
      if (auto self = weak.lock()) self->read();
    };
    read();
  }

 private:
  void read() {
    auto self = shared_from_this();
    Way& in = link_->from_gateway;
    while (!in.ready().empty()) {
      const std::string bytes(in.ready());
      in.take(bytes.size());
      reader_.feed(bytes);
    }
    if (in.at_end() || in.broken()) out_.end();
  }
  void asked() {
    service_.world_.after(service_.thinks(), [weak = weak_from_this()] {
      if (auto self = weak.lock()) self->out_.write("HTTP/1.1 204 No Content\r\n\r\n");
    });
  }

  HookService& service_;
  std::shared_ptr<Link> link_;
  Writer out_;
  HttpReader reader_{false};
};

HookService::HookService(World& world, const Plan& plan)
    : world_(world), plan_(plan), random_(plan.seed, "hook service") {
  World::Host host;
  host.accept = [this](std::shared_ptr<Link> link) {
    connections_.push_back(std::make_shared<Connection>(*this, std::move(link)));
    connections_.back()->begin();
  };
  world.hosts()[Policies::kHookAddress] = std::move(host);
}

HookService::~HookService() = default;

Time HookService::thinks() {
  return world_.now() > plan_.last + limits_of_all(plan_) ? 0 : random_.skewed(0, 3 * kSecond);
}

}  // namespace lineward::sim
