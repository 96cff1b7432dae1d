#include "doctor/masked.h"

#include "config/secrets.h"
#include "log/printable.h"

namespace lineward::doctor {
namespace {

// More than is shown of any text: what stands further on need not be searched.
constexpr size_t kLooked = 4096;
constexpr std::string_view kMark = "***";

}  // namespace

Masked::Masked(const config::Server& server) : given_(config::given_to(server), config::kShortestGiven) {}

std::string Masked::operator()(std::string_view said, size_t most) const {
  said = said.substr(0, kLooked);
  // The text may have been cut within one.
  const size_t begun = given_.begun_at_end(said, config::kShortestGiven);
  std::string out = given_.hide(said.substr(0, said.size() - begun), kMark);
  if (begun > 0) out += kMark;
  return printable(out, most);
}

}  // namespace lineward::doctor
