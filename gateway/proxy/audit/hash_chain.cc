#include "proxy/audit/hash_chain.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "foundation/base/sha256.h"

namespace lineward::audit {
namespace {

constexpr std::string_view kSeq = "{\"seq\":";
constexpr std::string_view kTime = ",\"time\":\"";
constexpr size_t kTimeBytes = 24;
constexpr std::string_view kType = "\",\"type\":\"";
constexpr std::string_view kWhy = "\",\"why\":\"";
constexpr std::string_view kPrev = ",\"prev\":\"";
constexpr std::string_view kHash = "\",\"hash\":\"";
constexpr std::string_view kEnd = "\"}";
constexpr size_t kHashBytes = 64;
constexpr size_t kTail = kPrev.size() + kHashBytes + kHash.size() + kHashBytes + kEnd.size();

bool is_hash(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

}  // namespace

std::string sha256_hex(std::string_view text) {
  const Sha256 digest = sha256(text);
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out(kHashBytes, '0');
  for (size_t i = 0; i < digest.size(); ++i) {
    out[2 * i] = kDigits[digest[i] >> 4];
    out[2 * i + 1] = kDigits[digest[i] & 15];
  }
  return out;
}

std::string HashChain::seal(std::string_view body) {
  std::string line;
  line.reserve(body.size() + kTail + 32);
  line += kSeq;
  line += fmt::format_int(++seq_).str();
  line += ',';
  line += body;
  line += kPrev;
  line += hash_;
  line += '"';
  hash_ = sha256_hex(line);
  line += kHash.substr(1);
  line += hash_;
  line += kEnd;
  line += '\n';
  return line;
}

std::optional<Record> read_record(std::string_view line) {
  if (line.size() > kMaxLine || line.substr(0, kSeq.size()) != kSeq) return std::nullopt;
  Record record;
  const char* from = line.data() + kSeq.size();
  const char* end = line.data() + line.size();
  auto [at, fault] = std::from_chars(from, end, record.seq);
  if (fault != std::errc() || record.seq == 0) return std::nullopt;
  std::string_view rest(at, static_cast<size_t>(end - at));
  if (rest.substr(0, kTime.size()) != kTime) return std::nullopt;
  rest.remove_prefix(std::min(rest.size(), kTime.size() + kTimeBytes));
  if (rest.substr(0, kType.size()) != kType) return std::nullopt;
  rest.remove_prefix(kType.size());
  record.type = rest.substr(0, rest.find('"'));
  if (rest.size() < record.type.size() + 1 + kTail) return std::nullopt;
  if (const std::string_view next = rest.substr(record.type.size()); next.substr(0, kWhy.size()) == kWhy)
    record.why = next.substr(kWhy.size(), next.find('"', kWhy.size()) - kWhy.size());
  std::string_view tail = rest.substr(rest.size() - kTail);
  if (tail.substr(0, kPrev.size()) != kPrev) return std::nullopt;
  record.prev = tail.substr(kPrev.size(), kHashBytes);
  tail.remove_prefix(kPrev.size() + kHashBytes);
  if (tail.substr(0, kHash.size()) != kHash) return std::nullopt;
  record.hash = tail.substr(kHash.size(), kHashBytes);
  if (tail.substr(kHash.size() + kHashBytes) != kEnd || !is_hash(record.prev) || !is_hash(record.hash))
    return std::nullopt;
  const size_t hashed = line.size() - kEnd.size() - kHashBytes - kHash.size() + 1;
  record.whole = sha256_hex(line.substr(0, hashed)) == record.hash;
  return record;
}

}  // namespace lineward::audit
