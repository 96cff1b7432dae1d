#include "operate/fetch/redactor.h"

#include "config/secrets.h"
#include "foundation/log/sanitize.h"

namespace lineward::fetch {
namespace {

// More than any shown text: later bytes need not be searched.
constexpr size_t kLooked = 4096;
constexpr std::string_view kMark = "***";

}  // namespace

Redactor::Redactor(const config::Server& server) : Redactor(config::given_to(server)) {}

Redactor::Redactor(const std::vector<std::string>& secrets) : given_(secrets, config::kShortestGiven) {}

std::string Redactor::operator()(std::string_view said, size_t most) const {
  return sanitize(given_.hide_cut(said.substr(0, kLooked), kMark, config::kShortestGiven), most);
}

}  // namespace lineward::fetch
