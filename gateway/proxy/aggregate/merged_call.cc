#include "proxy/aggregate/merged_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "protocol/mcp/errors.h"
#include "proxy/metrics/stats.h"

namespace lineward::aggregate {

using mcp::EndReason;
using mcp::Field;
using mcp::Method;

namespace {

// Some clients send null or an empty cursor for the first page.
bool has_cursor(const mcp::Message& message) {
  return message.has(Field::params_cursor) && message.raw(Field::params_cursor) != "null" &&
         message.raw(Field::params_cursor) != "\"\"";
}

}  // namespace

MergedCall::MergedCall(AggregateUpstream& aggregate, core::UpstreamRequest request,
                       core::CallCallbacks& owner)
    : OwnedCall(&owner),
      aggregate_(aggregate),
      request_(std::move(request)),
      list_(list_of(request_.method)) {}

MergedCall::~MergedCall() {
  if (live()) cancel_alive(aggregate_.name());
}

void MergedCall::add(const std::shared_ptr<Member>& member, CursorPart from) {
  auto response = std::make_unique<MemberResponse>();
  response->sub_request = std::make_unique<SubRequest>(aggregate_.loop(), member);
  response->from = std::move(from);
  responses_.push_back(std::move(response));
}

void MergedCall::begin() {
  const mcp::Message& message = request_.message;
  if (list_ != nullptr && has_cursor(message)) {
    auto parts = message.is_string(Field::params_cursor)
                     ? open_cursor(message.method(), message.text(Field::params_cursor))
                     : std::nullopt;
    if (!parts)
      refusal_ =
          mcp::error_message("0", mcp::kInvalidParams, "this cursor was not made here, or for another list");
    for (CursorPart& from : parts ? *parts : std::vector<CursorPart>()) {
      auto member = aggregate_.find(from.server);
      if (!member) {
        refusal_ = mcp::error_message(
            "0", mcp::kInvalidParams,
            fmt::format("this cursor is of a server that is not there any more: {}", from.server));
        break;
      }
      add(member, std::move(from));
    }
    if (!refusal_.empty()) responses_.clear();
  } else {
    for (const auto& member : aggregate_.members()) {
      bool without = list_ != nullptr && member->denies(request_, list_->capability);
      if (!without) add(member, {member->name, {}, 0});
    }
  }
  // An answer may arrive during this loop.
  for (size_t at = 0; at < responses_.size(); ++at)
    ask(*responses_[at]);
  begun_ = true;
  aggregate_.loop().defer(lifetime_, [this] {
    if (!live()) return;
    owner_->on_call_phase(core::CallPhase::written);
    if (live()) check();
  });
}

void MergedCall::ask(MemberResponse& response) {
  const Member& member = *response.sub_request->member();
  core::UpstreamRequest request;
  auto message = mcp::Message::parse(request_for(response), json::kDepthCeiling);
  if (message) request.message = std::move(*message);
  request.method = request_.method;
  request.client_era = mcp::Era::modern;
  request.scope = request_.scope;
  request.headers = member.headers_for_it(request_.headers);
  request.sends_param_headers = request_.sends_param_headers;
  request.from = request_.from;
  request.bytes_in = request_.bytes_in;
  if (!held_up_) response.sub_request->hold_nobody_up(aggregate_.rules().part_timeout);
  response.sub_request->ask(
      std::move(request), aggregate_.part_limit(member),
      [this, &response](Result<mcp::Message, core::Failure> answer) {
        answered(response, std::move(answer));
      },
      [this](mcp::Message heard) {
        // Progress of one response says nothing about the whole.
        if (live() && mcp::method_of(heard.method()) == Method::message)
          owner_->on_call_message(std::move(heard));
      });
}

void MergedCall::answered(MemberResponse& response, Result<mcp::Message, core::Failure> answer) {
  Member& from = *response.sub_request->member();
  const bool result = answer && answer->kind() == mcp::MessageKind::result;
  if (result && list_ == nullptr && answer->bytes().size() <= aggregate_.rules().max_part_bytes)
    aggregate_.learned(from, request_, *answer);
  if (result && response.sub_request->reached_server()) aggregate_.came(from);
  response.held.charge(request_.account());
  response.held.set(answer ? answer->bytes().size() : 0);
  response.answer.emplace(std::move(answer));
  response.gap = gap_of(response);
  if (!response.gap) hold_up();
  check();
}

void MergedCall::hold_up() {
  if (std::exchange(held_up_, true)) return;
  for (auto& response : responses_)
    response->sub_request->hold_others_up();
}

std::string MergedCall::request_for(const MemberResponse& response) const {
  const mcp::Message& message = request_.message;
  if (!has_cursor(message)) return message.bytes();
  json::Splice splice = message.splice();
  splice.replace(message.at(Field::params_cursor), response.from.raw);
  return splice.apply();
}

// ---- end ----

core::CallCallbacks* MergedCall::leave() {
  for (auto& response : responses_) {
    response->sub_request->cancel("the call it belongs to has ended");
    aggregate_.loop().retire(std::move(response->sub_request));
  }
  return take_owner();
}

void MergedCall::cancel(core::CancelCause why) {
  if (!live()) return;
  metrics::CancelReport report;
  for (auto& response : responses_) {
    if (!response->answer && response->sub_request->reached_server())
      report.told = metrics::CancelTold::servers_behind;
    response->sub_request->cancel(why);
  }
  leave();
  metrics::upstream_stats(aggregate_.name()).cancel_settled(request_.tag, report);
}

void MergedCall::finish(std::string text) {
  finish(json::Text{std::move(text), nullptr});
}

void MergedCall::finish(json::Text text) {
  auto message = mcp::Message::parse(std::move(text), json::kDepthCeiling);
  core::CallCallbacks* owner = leave();
  if (message) return owner->on_call_message(std::move(*message));
  owner->on_call_failed({EndReason::internal, "the merged answer is no message: " + message.error().text});
}

std::optional<Missing> MergedCall::gap_of(const MemberResponse& response) const {
  const auto& answer = *response.answer;
  const std::string& server = response.sub_request->member()->name;
  if (!answer)
    return Missing{server, std::string(mcp::name(answer.error().reason)), answer.error().text,
                   answer.error().by_policy};
  // Every response stays in memory until the last one arrives, and each is searched.
  const uint64_t most = aggregate_.rules().max_part_bytes;
  if (answer->kind() == mcp::MessageKind::result && answer->bytes().size() > most) {
    metrics::limit_reached(metrics::Limit::part_bytes);
    return Missing{server, std::string(mcp::name(EndReason::upstream_protocol)),
                   fmt::format("its part of {} bytes is longer than {} (aggregate.maxPartBytes)",
                               answer->bytes().size(), most)};
  }
  if (answer->kind() != mcp::MessageKind::error) return std::nullopt;
  // It has no such list.
  if (list_ != nullptr && mcp::error_code(*answer) == mcp::kMethodNotFound) return std::nullopt;
  return Missing{server, "rpc_error", answer->text(Field::error_message)};
}

void MergedCall::missed(MemberResponse& response, const Missing& gap) {
  aggregate_.missed(*response.sub_request->member(), request_.message.method(), gap);
  if (!std::exchange(response.counted, true)) ++metrics::upstream_stats(gap.server).missing_parts;
}

void MergedCall::check() {
  if (!live() || !begun_) return;
  if (!refusal_.empty()) return finish(std::move(refusal_));
  if (std::any_of(responses_.begin(), responses_.end(),
                  [](const auto& response) { return !response->answer; }))
    return;
  size_t lost = 0;
  for (const auto& response : responses_) {
    if (response->gap) {
      missed(*response, *response->gap);
      ++lost;
    }
  }
  if (lost > 0 && lost == responses_.size()) {
    const auto& first = *responses_.front()->answer;
    if (first && first->kind() == mcp::MessageKind::result) {
      const Missing& gap = *responses_.front()->gap;
      const core::Failure too_long{EndReason::upstream_protocol,
                                   fmt::format("no server answered; {}: {}", gap.server, gap.text)};
      return leave()->on_call_failed(too_long);  // after leave(): leaving retires the sub-requests
    }
    if (first) return finish(first->bytes());
    core::Failure failure = first.error();
    if (!failure.by_policy) failure.text = fmt::format("no server answered; {}", failure.text);
    failure.session_over = false;
    return leave()->on_call_failed(failure);
  }
  list_ == nullptr ? merge_discover() : merge_list();
}

void MergedCall::merge_discover() {
  std::vector<Missing> gaps;
  std::vector<MemberFacts> facts;
  for (const auto& response : responses_) {
    // Uses this client's answer only.
    if (response->gap) {
      gaps.push_back(std::move(*response->gap));
    } else {
      facts.push_back(read_facts(response->sub_request->member()->name, **response->answer));
    }
  }
  finish(merged_discover(facts, gaps, aggregate_.is_public()));
}

void MergedCall::merge_list() {
  ListPage page;
  page.list = list_->list;
  size_t bytes = 0;
  for (const auto& response : responses_)
    bytes += response->gap ? 0 : response->held.mine();
  page.items.reserve(bytes + bytes / 8);  // names get longer
  for (auto& response : responses_) {
    // The server no longer knows the cursor.
    bool stale = *response->answer && (*response->answer)->kind() == mcp::MessageKind::error &&
                 !response->from.raw.empty() && mcp::error_code(**response->answer) == mcp::kInvalidParams;
    if (stale) return finish((*response->answer)->bytes());
    take_page(page, *response);
  }
  finish(merged_list(page, aggregate_.is_public()));
}

void MergedCall::take_page(ListPage& page, MemberResponse& response) {
  const std::string& server = response.sub_request->member()->name;
  if (response.gap) {
    page.missing.push_back(std::move(*response.gap));
    return;
  }
  const mcp::Message& answer = **response.answer;
  if (answer.kind() != mcp::MessageKind::result) return;
  auto broken = [&](std::string text) {
    Missing gap{server, std::string(mcp::name(EndReason::upstream_protocol)), std::move(text)};
    missed(response, gap);
    page.missing.push_back(std::move(gap));
  };
  std::string next = read_page(page, answer);
  // The server sends an empty cursor for the end, and takes one as its start: this is its first page again.
  constexpr std::string_view kEmpty = R"("")";
  if (next == kEmpty && response.from.raw == kEmpty) return;
  take_items(page, response, answer);
  if (next.empty()) return;
  if (next.front() != '"') return broken("its nextCursor is no string");
  if (next == response.from.raw) return broken("it gave the same cursor again");
  if (response.from.pages + 1 >= kMaxPages)
    return broken(fmt::format("its list has more than {} pages", kMaxPages));
  page.more.push_back({server, std::move(next), response.from.pages + 1});
}

void MergedCall::take_items(ListPage& page, MemberResponse& response, const mcp::Message& answer) {
  const Member& member = *response.sub_request->member();
  PageMemo& memo = aggregate_.pages();
  const size_t most = aggregate_.rules().max_items;
  const auto add = [&page](const std::string& items) {
    if (!page.items.empty() && !items.empty()) page.items += ',';
    page.items += items;
  };
  if (!aggregate_.is_configured(member.name)) return;  // a reload has removed it: its names are free
  const auto* known = memo.find(aggregate_.shown(), member.name, list_->list, answer.raw(list_->items));
  if (known != nullptr && known->count <= most) return add(known->items);
  PageMemo::Page read = read_items(member, answer);
  const size_t count = read.count;
  add(read.items);
  memo.keep(std::move(read));
  if (count <= most) return;
  metrics::limit_reached(metrics::Limit::part_items);
  Missing gap{
      member.name, std::string(mcp::name(EndReason::upstream_protocol)),
      fmt::format("{} of its items are missing: a page holds at most {} (lineward aggregate.maxItems)",
                  count - most, most)};
  missed(response, gap);
  page.missing.push_back(std::move(gap));
}

PageMemo::Page MergedCall::read_items(const Member& member, const mcp::Message& answer) {
  const std::string& text = answer.bytes();
  const List list = list_->list;
  NameMap& shown = aggregate_.shown();
  // The names of tools and prompts that metrics may use as labels.
  auto* names = list == List::tools     ? &metrics::routed_stats(member.name).tools
                : list == List::prompts ? &metrics::routed_stats(member.name).prompts
                                        : nullptr;
  const std::array<uint64_t, 2> before{shown.version(list, false), shown.version(list, true)};
  PageMemo::Page read;
  bool whole = true;
  for_each_item(text, answer.at(list_->items), list, [&](const ListItem& item) {
    if (++read.count > aggregate_.rules().max_items) return void(whole = false);
    if (names != nullptr && names->size() < metrics::NameTable::kMaxEntries) names->learn(item.own);
    if (item.meta) read.has_uris = true;
    if (add_for_client(shown, list, member.name, text, item, read.items)) return;
    whole = false;
    aggregate_.left_out(member, list, item.own);
  });
  // A first reading assigns names; one that assigned none has the same result again.
  const uint64_t version = shown.version(list, read.has_uris);
  if (!whole || version != before[read.has_uris ? 1 : 0]) return read;
  read.version = version;
  read.server = member.name;
  read.list = list;
  read.raw = answer.raw(list_->items);
  return read;
}

}  // namespace lineward::aggregate
