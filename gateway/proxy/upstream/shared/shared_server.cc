#include "proxy/upstream/shared/shared_server.h"

namespace lineward::upstream {

using Lock = std::lock_guard<std::mutex>;

std::shared_ptr<SharedVersion> SharedServer::join() {
  const Lock lock(mutex_);
  if (!version_) version_ = std::make_shared<SharedVersion>();
  return version_;
}

void SharedServer::retire(const std::shared_ptr<SharedVersion>& version) {
  const Lock lock(mutex_);
  if (version_ != version) return;
  version_.reset();
  verdict_.reset();
  begin_anew();
}

void SharedServer::publish(const std::shared_ptr<SharedVersion>& version, const EraVerdict& verdict) {
  const Lock lock(mutex_);
  if (version_ != version) return;
  verdict_ = std::make_shared<const EraVerdict>(verdict);
  is_modern_ = verdict.era == mcp::Era::modern;
}

std::shared_ptr<const EraVerdict> SharedServer::verdict() const {
  const Lock lock(mutex_);
  return verdict_;
}

}  // namespace lineward::upstream
