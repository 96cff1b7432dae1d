#include "operate/http_client/masked.h"

#include "config/secrets.h"
#include "foundation/log/printable.h"

namespace lineward::http_client {
namespace {

// More than any shown text: later bytes need not be searched.
constexpr size_t kLooked = 4096;
constexpr std::string_view kMark = "***";

}  // namespace

Masked::Masked(const config::Server& server) : Masked(config::given_to(server)) {}

Masked::Masked(const std::vector<std::string>& secrets) : given_(secrets, config::kShortestGiven) {}

std::string Masked::operator()(std::string_view said, size_t most) const {
  return printable(given_.hide_cut(said.substr(0, kLooked), kMark, config::kShortestGiven), most);
}

}  // namespace lineward::http_client
