#include "admin/known_secrets.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace lineward::admin {
namespace {

constexpr std::string_view kHidden = "…";

}  // namespace

void KnownSecrets::use(const config::Config& config) {
  std::vector<std::string> values;
  auto add = [&](const std::string& value) {
    if (value.size() >= kShortest) values.push_back(value);
  };
  for (const config::Server& server : config.servers) {
    for (const auto& [name, value] : server.env)
      add(value);
    for (const auto& [name, value] : server.headers) {
      add(value);
      size_t gap = value.find(' ');  // "Bearer TOKEN"
      if (gap != std::string::npos) add(value.substr(gap + 1));
    }
    add(server.credentials.client_secret);
    add(server.credentials.private_key);
    size_t at = server.proxy.rfind('@');
    size_t scheme = server.proxy.find("://");
    if (at != std::string::npos && scheme != std::string::npos && scheme + 3 < at)
      add(server.proxy.substr(scheme + 3, at - scheme - 3));
  }
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  std::stable_sort(values.begin(), values.end(),
                   [](const std::string& a, const std::string& b) { return a.size() > b.size(); });
  std::lock_guard<std::mutex> lock(mutex_);
  values_ = std::move(values);
}

bool KnownSecrets::hide_in(std::string& text) const {
  bool found = false;
  for (const std::string& value : values_) {
    for (size_t at = text.find(value); at != std::string::npos; at = text.find(value, at + kHidden.size())) {
      text.replace(at, value.size(), kHidden);
      found = true;
    }
  }
  return found;
}

std::string KnownSecrets::hide(std::string text) const {
  std::lock_guard<std::mutex> lock(mutex_);
  hide_in(text);
  return text;
}

void KnownSecrets::hide(nlohmann::json& value) const {
  if (value.is_string()) {
    std::lock_guard<std::mutex> lock(mutex_);
    hide_in(value.get_ref<std::string&>());
  } else if (value.is_structured()) {
    for (nlohmann::json& element : value)
      hide(element);
  }
}

}  // namespace lineward::admin
