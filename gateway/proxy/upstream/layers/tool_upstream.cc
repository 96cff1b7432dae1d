#include "proxy/upstream/layers/tool_upstream.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "foundation/base/backoff.h"
#include "foundation/log/excerpt.h"
#include "foundation/log/log.h"
#include "protocol/mcp/errors.h"
#include "proxy/core/tool_view.h"
#include "proxy/upstream/http_client/http_headers.h"
#include "proxy/upstream/shared/own_limits.h"

namespace lineward::upstream {
namespace {

using core::CallPhase;
using mcp::Field;
using mcp::Method;
using std::chrono::milliseconds;

// A server that does not list its tools within this time is called without them. In no case do calls spend
// more than half of timeouts.startup on the list.
constexpr milliseconds kListPatience{10000};
// After a timeout the list is not fetched again at once.
constexpr Backoff::Range kPauses{milliseconds(10000), milliseconds(600000)};
constexpr uint32_t kMaxPages = 100;
// Refusals specific to one client: another one's list may succeed.
constexpr std::array<int, 4> kOfOneClient{mcp::kInvalidRequest, mcp::kInvalidParams,
                                          mcp::kMissingClientCapability, mcp::kUnsupportedVersion};
// The initial repeat budget, and its maximum.
constexpr double kFirstRepeats = 3;
constexpr double kMaxRepeats = 20;

}  // namespace

ToolUpstream::ToolUpstream(net::Loop& loop, std::unique_ptr<core::Upstream> inner,
                           const config::Server& server)
    : PassingUpstream(std::move(inner)),
      loop_(loop),
      server_(server),
      only_(server.tools.only),
      book_(server.name),
      repeats_left_(kFirstRepeats),
      repeats_per_call_(server.retry.budget / 100.0) {}

ToolUpstream::~ToolUpstream() {
  lifetime_.end();
  for (auto& [view, listing] : listings_) {
    if (listing->call && listing->call->live()) listing->call->cancel("the gateway is stopping");
  }
  listings_.clear();
}

HeaderRole ToolUpstream::role_of(const core::UpstreamRequest& request) const {
  if (request.client_era != mcp::Era::modern) return HeaderRole::none;
  bool http = !server_.url.empty();
  bool modern_http = http && inner_->era() != mcp::Era::legacy;
  if (!request.sends_param_headers) return modern_http ? HeaderRole::make : HeaderRole::none;
  return modern_http ? HeaderRole::none : HeaderRole::check;
}

std::string ToolUpstream::view_key(const core::UpstreamRequest& request) const {
  std::string key = identity_of(server_, request.headers);
  const bool has_its_own = server_.isolation == config::Isolation::session;
  std::string whose = request.scope.principal + "\n" + (has_its_own ? request.scope.affinity + "\n" : "");
  // A legacy session may have a process of its own, with other tools.
  if (has_view()) whose += request.scope.session + "\n" + request.scope.bridged_session + "\n";
  return whose + key;
}

Result<std::unique_ptr<core::Call>, core::Failure> ToolUpstream::start(core::UpstreamRequest&& request,
                                                                       core::CallCallbacks& owner) {
  bool repeats = server_.retry.attempts > 1;
  Method method = request.method;
  HeaderRole role = role_of(request);
  if (repeats) repeats_left_ = std::min(kMaxRepeats, repeats_left_ + repeats_per_call_);
  // A list change on one caller's listen counts for all callers.
  const bool listens = method == Method::subscriptions_listen;
  const bool judges = has_view() && (method == Method::tools_call || method == Method::tools_list ||
                                     method == Method::completion_complete);
  bool passes = role == HeaderRole::none && !repeats && !listens && !judges;
  if (method == Method::initialize) passes = !repeats;
  if (!passes && !repeats && !judges) {
    passes = method != Method::tools_call && method != Method::tools_list && !listens;
  }
  if (!passes && !repeats && !judges && role == HeaderRole::check && method == Method::tools_call) {
    ToolView& view = book_.view(view_key(request));
    passes =
        view.known && (view.tools.empty() || view.find(request.message.text(Field::params_name)) == nullptr);
  }
  if (passes || stopping_) return inner_->start(std::move(request), owner);
  auto call = std::make_unique<ToolCall>(*this, std::move(request), owner, role);
  if (auto failure = call->begin()) {
    call->cancel("was not begun");
    return Unexpected<core::Failure>{std::move(*failure)};
  }
  return Result<std::unique_ptr<core::Call>, core::Failure>(std::move(call));
}

bool ToolUpstream::may_repeat() {
  if (repeats_per_call_ > kMaxRepeats)
    return true;  // never by a file: a shared gateway's client has no budget
  if (repeats_left_ < 1) return false;
  repeats_left_ -= 1;
  return true;
}

void ToolUpstream::notice(core::UpstreamNotice what) {
  if (what == core::UpstreamNotice::reconfigured) {
    repeats_per_call_ = server_.retry.budget / 100.0;
    // Hints are read for a view only.
    if (std::exchange(only_, server_.tools.only) != server_.tools.only) book_.changed();
  }
  PassingUpstream::notice(what);
}

// ---- the view ----

ToolUpstream::Judged ToolUpstream::judge(const std::string& view, const std::string& tool) {
  const ToolView& its_view = book_.view(view);
  const milliseconds now = loop_.now();
  const ToolFacts* facts = its_view.find(tool);
  if (facts != nullptr && facts->changes == book_.changes() && now < facts->fresh_until)
    return core::is_allowed(server_.tools.only, facts->hints) ? Judged::shown : Judged::hidden;
  if (!its_view.known || now >= its_view.fresh_until) return Judged::unknown;
  return its_view.is_cut ? Judged::left_out : Judged::hidden;
}

bool ToolUpstream::may_learn_to_judge(const std::string& view) {
  auto found = listings_.find(view);
  if (found != listings_.end()) return !found->second->overdue;
  const ToolView& its_view = book_.view(view);
  // Without the list nothing can be called, so it is tried again sooner.
  const auto ends = [](const ListPause& pause) {
    return std::min(pause.not_before, pause.since + kPauses.first);
  };
  return loop_.now() >= std::max(ends(its_view.pause), ends(book_.pause()));
}

core::Failure ToolUpstream::unjudged(const std::string& view, const std::string& tool) {
  const ToolView& its_view = book_.view(view);
  std::string why = its_view.why_not.text();
  if (why.empty() && its_view.is_cut)
    why = fmt::format("it has more than {} tools or {} pages, or longer names than {} bytes",
                      ToolCatalog::kMaxTools, kMaxPages, ToolCatalog::kMaxNameBytes);
  if (why.empty()) why = "it changed meanwhile";
  return {mcp::EndReason::upstream_protocol,
          fmt::format("{} was not called: tools.only of {} needs the server's list of tools, and {}",
                      log::Excerpt(tool, 128).string(), server_.name, why)};
}

// ---- the list ----

std::optional<core::Failure> ToolUpstream::learn(ToolCall& call) {
  core::PermitSource* permits = inner_->parts(call.request().scope).permits;
  auto place = permits != nullptr ? permits->wait_in_front(call.request())
                                  : Result<std::unique_ptr<core::WaitingPermit>, core::Failure>(nullptr);
  if (!place) return place.error();
  auto& listing = listings_[call.view()];
  bool first = !listing;
  // The list's request takes the permit of the first waiting call.
  if (first) {
    listing = std::make_unique<Listing>(*this, call);
    listing->place = std::move(*place);
  } else {
    call.waits_at(std::move(*place));
  }
  listing->waiting.push_back(&call);
  // Deferred: the caller must not be called back synchronously.
  loop_.defer(lifetime_, [this, first, view = call.view(), one = listing.get()] {
    auto found = listings_.find(view);
    if (found == listings_.end() || found->second.get() != one) return;
    if (first && !one->ask({})) return listed(*one, false);
    std::vector<ToolCall*> waiting = one->waiting;
    for (ToolCall* each : waiting)
      each->listing_phase(one->phase);
  });
  return std::nullopt;
}

void ToolUpstream::forget(ToolCall& call) {
  auto found = listings_.find(call.view());
  if (found == listings_.end()) return;
  Listing& listing = *found->second;
  std::erase(listing.waiting, &call);
  if (!listing.waiting.empty()) {
    // The call that is first now shares the list's permit, and needs none of its own.
    if (!call.has_place()) listing.waiting.front()->waits_at(nullptr);
  } else if (!listing.overdue) {
    drop(listing);
  }
}

void ToolUpstream::drop(Listing& listing) {
  if (listing.call && listing.call->live()) listing.call->cancel("no call waits for the list any more");
  end(listing);
}

ToolUpstream::Listing::Listing(ToolUpstream& its_upstream, const ToolCall& first)
    : upstream(its_upstream), view(first.view()), limit(its_upstream.loop_), patience(its_upstream.loop_) {
  const core::UpstreamRequest& from = first.request();
  like.method = Method::tools_list;
  like.client_era = from.client_era;
  like.scope = from.scope;
  like.headers = headers_of_client(from.headers);
  if (first.asks_modern_only()) like.only_era = mcp::Era::modern;
  const bool modern = like.client_era == mcp::Era::modern;
  if (auto request = mcp::Message::parse(tools_list_request(from.message, modern, {})))
    like.message = std::move(*request);
  held.charge(from.account());
  held.set(like.message.bytes().size());
}

bool ToolUpstream::Listing::ask(std::string_view next) {
  bool modern = like.client_era == mcp::Era::modern;
  auto message = mcp::Message::parse(tools_list_request(like.message, modern, next));
  if (!message || like.message.bytes().empty()) return false;
  core::UpstreamRequest request;
  request.message = std::move(*message);
  request.method = Method::tools_list;
  request.client_era = like.client_era;
  request.scope = like.scope;
  request.only_era = like.only_era;
  request.headers = like.headers;
  if (next.empty()) {
    changes = upstream.book_.changes();
    for_view.changes = changes;
    for_view.now = upstream.loop_.now();
    for_view.names.clear();
    // An error or a result without tools is no list, but decides as one.
    for_view.fresh_until = for_view.now + ToolCatalog::kMostFresh;
  }
  upstream.loop_.retire(std::move(call));
  place.reset();
  phase = CallPhase::queued;
  auto started = upstream.inner_->start(std::move(request), *this);
  if (!started) return false;
  call = std::move(*started);
  return true;
}

// Waiting calls are `starting` all the time: the list may use at most half of timeouts.startup.
void ToolUpstream::Listing::on_call_phase(CallPhase now) {
  phase = now;
  if (now == CallPhase::starting && !starting_at) starting_at = upstream.loop_.now();
  if (now == CallPhase::written) {
    if (!limit.running()) limit.start(own_limit(upstream.server_, "tools/list"), [this] { ran_out(); });
    if (!overdue && !patience.running()) {
      const milliseconds startup = upstream.server_.timeouts.startup;
      const milliseconds spent = starting_at ? upstream.loop_.now() - *starting_at : milliseconds(0);
      patience.start(std::min(kListPatience, std::max(startup - spent, milliseconds(0)) / 2),
                     [this] { upstream.go_without(*this); });
    }
  }
  std::vector<ToolCall*> all = waiting;
  for (ToolCall* one : all)
    one->listing_phase(now);
}

// If no process could be started for the list, the waiting calls have none either. If the process exits after
// the request, the request is assumed to crash it.
void ToolUpstream::Listing::on_call_failed(const core::Failure& failure) {
  upstream.note_why_not(view, "it could not be read: " + log::Excerpt(failure.text, 256).string());
  // With a view no call can do without the list.
  if (!upstream.is_stdio() && upstream.has_view()) {
    for (ToolCall* one : upstream.end(*this))
      one->unreached(failure);
    return;
  }
  if (failure.of_other_era || !upstream.is_stdio()) return upstream.listed(*this, false);
  if (phase != CallPhase::written) {
    for (ToolCall* one : upstream.end(*this))
      one->unreached(failure);
    return;
  }
  upstream.pause(upstream.book_.view(view), Affects::all_callers, "tool.list_failed");
  upstream.listed(*this, false);
}

void ToolUpstream::Listing::ran_out() {
  if (call->live()) call->cancel("the list of tools did not come in time");
  if (!overdue) upstream.go_without(*this);
  upstream.listed(*this, false);
}

void ToolUpstream::Listing::on_call_message(mcp::Message&& message) {
  ToolView& its_view = upstream.book_.view(view);
  if (pages == 0) {
    kept_in = its_view.number;
    its_view.is_cut = false;
  }
  if (message.kind() == mcp::MessageKind::error) {
    // A server without tools reports that once. A server over HTTP checks the headers itself, and reports
    // missing ones.
    const int code = mcp::error_code(message);
    const bool has_none = (!upstream.is_stdio() && !upstream.has_view()) || code == mcp::kMethodNotFound;
    if (!has_none) upstream.note_why_not(view, fmt::format("the server answered with error {}", code));
    const bool of_one = std::find(kOfOneClient.begin(), kOfOneClient.end(), code) != kOfOneClient.end();
    if (!has_none)
      upstream.pause(its_view, of_one ? Affects::caller : Affects::all_callers, "tool.list_failed");
    return upstream.listed(*this, has_none);
  }
  if (message.kind() != mcp::MessageKind::result) return;
  upstream.book_.read(its_view, message, upstream.has_view() ? &for_view : nullptr);
  std::string next(message.raw(Field::result_next_cursor));
  bool more = !next.empty() && next != "null" && next != cursor && ++pages < kMaxPages;
  if (pages >= kMaxPages) its_view.is_cut = true;
  if (!more) return upstream.listed(*this, true);
  cursor = next;
  if (!ask(cursor)) upstream.listed(*this, false);
}

bool ToolUpstream::may_learn(const std::string& view) {
  auto found = listings_.find(view);
  if (found != listings_.end()) return !found->second->overdue;
  return loop_.now() >= std::max(book_.view(view).pause.not_before, book_.pause().not_before);
}

void ToolUpstream::pause(ToolView& view, Affects whom, std::string_view event) {
  auto lengthen = [&](ListPause& pause) {
    // Several lists that end with one process count as one failure.
    if (loop_.now() < pause.not_before) return;
    pause.since = loop_.now();
    pause.not_before = loop_.now() + Backoff::exact(kPauses, pause.waits++);
  };
  lengthen(view.pause);
  const bool has_one_process = is_stdio() && config::is_of_all_callers(server_.isolation);
  if (whom == Affects::all_callers && has_one_process) lengthen(book_.pause());
  log::write(log::Level::warn, event, {{"upstream", server_.name}});
}

// Calls are refused for that with a view alone.
void ToolUpstream::note_why_not(const std::string& view, std::string why) {
  if (has_view()) book_.view(view).why_not.keep(std::move(why));
}

void ToolUpstream::go_without(Listing& listing) {
  listing.overdue = true;
  listing.patience.stop();
  note_why_not(listing.view, "it did not come in time (half of timeouts.startup, 10 s at most)");
  pause(book_.view(listing.view), Affects::all_callers, "tool.list_late");
  std::vector<ToolCall*> waiting = std::exchange(listing.waiting, {});
  // The list would occupy the only permit.
  if (server_.limits.max_in_flight <= 1) drop(listing);
  for (ToolCall* call : waiting)
    call->learned(false);
}

std::vector<ToolCall*> ToolUpstream::end(Listing& listing) {
  listing.place.reset();
  listing.limit.stop();
  listing.patience.stop();
  std::vector<ToolCall*> waiting = std::exchange(listing.waiting, {});
  auto found = listings_.find(listing.view);
  loop_.retire(std::move(found->second));
  listings_.erase(found);
  return waiting;
}

void ToolUpstream::listed(Listing& listing, bool to_the_end) {
  auto found = listings_.find(listing.view);
  if (found == listings_.end() || found->second.get() != &listing) return;
  ToolView& view = book_.view(listing.view);
  // An incomplete or outdated list is fetched again by the next call.
  view.known = view.known || (to_the_end && listing.is_kept_in(view));
  view.listed_at = loop_.now();
  if (to_the_end) {
    view.fresh_until = listing.for_view.fresh_until;
    view.why_not.clear();
    view.pause = {};
    book_.pause() = {};
  }
  for (ToolCall* call : end(listing))
    call->learned(to_the_end);
}

}  // namespace lineward::upstream
