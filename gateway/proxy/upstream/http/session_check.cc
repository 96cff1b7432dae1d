#include "proxy/upstream/http/session_check.h"

#include <algorithm>
#include <utility>

#include "foundation/base/backoff.h"

namespace lineward::upstream {
namespace {

using std::chrono::milliseconds;

// Limit for the ping; calls wait for it.
constexpr milliseconds kPingPatience{5000};
constexpr Backoff::Range kPingPauses{milliseconds(1000), milliseconds(10000)};

char lower_letter(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

SessionCheck::Verdict verdict_of_ping(const std::optional<mcp::Message>& answer, const MessagesEnd& end) {
  using Verdict = SessionCheck::Verdict;
  const bool refused = end.status >= 400;
  if (answer && answer->kind() == mcp::MessageKind::error &&
      SessionCheck::names_session(answer->text(mcp::Field::error_message)))
    return Verdict::lost;
  if (end.no_such_method || (answer && !refused)) return Verdict::knows;
  if (end.status == 404 || end.status == 410) return Verdict::lost;
  if (end.kind != MessagesEnd::Kind::refused) return Verdict::unsure;
  // A load balancer without a working server says nothing about sessions.
  const bool of_balancer = end.status >= 502 && end.status <= 504;
  return SessionCheck::is_sign(end.status) && !of_balancer ? Verdict::refuses : Verdict::unsure;
}

}  // namespace

bool SessionCheck::is_sign(int status) {
  return status == 400 || status == 401 || status == 403 || status == 404 || status == 410 || status >= 500;
}

bool SessionCheck::names_session(std::string_view words) {
  constexpr std::string_view kSession = "session";
  return std::search(words.begin(), words.end(), kSession.begin(), kSession.end(),
                     [](char a, char b) { return lower_letter(a) == b; }) != words.end();
}

bool SessionCheck::doubt() {
  if (asking_) return true;
  if (loop_.now() < next_) return false;
  asking_ = true;
  patience_.start(kPingPatience, [this] { tell(Verdict::unsure); });
  requests_.ask("ping", "{}", [this](std::optional<mcp::Message> answer, const MessagesEnd& end) {
    on_answer(answer, end);
  });
  return true;
}

void SessionCheck::answered() {
  was_of_use_ = true;
  pause_ = milliseconds(0);
}

void SessionCheck::stop() {
  patience_.stop();
  asking_ = false;
}

void SessionCheck::on_answer(const std::optional<mcp::Message>& answer, const MessagesEnd& end) {
  const Verdict verdict = verdict_of_ping(answer, end);
  if (asking_ || verdict == Verdict::lost) tell(verdict);
}

void SessionCheck::tell(Verdict verdict) {
  stop();
  pause_ = Backoff::after(pause_, kPingPauses);
  next_ = loop_.now() + pause_;
  told_(verdict);
}

}  // namespace lineward::upstream
