// Messages that are read, changed in a few places and written again.
#include <algorithm>
#include <catch2/catch.hpp>

#include "protocol/mcp/message.h"
#include "unit/foundation/json/json_gen.h"
#include "unit/protocol/mcp/parse.h"

using namespace lineward;
using mcp::Field;
using mcp::Message;
using mcp::parse;
using test::JsonGen;
using test::members_of;

// Random messages full of odd but legal spellings: what a gateway does to them changes nothing else.
TEST_CASE("Message and Splice: every byte that is not edited stays") {
  JsonGen gen(42);
  const auto none_left_out = [](const JsonGen::Members& members, const std::string& key) {
    JsonGen::Members out;
    for (const auto& member : members) {
      if (member.first != key) out.push_back(member);
    }
    return out;
  };
  for (int round = 0; round < 4000; ++round) {
    gen.pretty = round % 2 == 0;
    const std::string id_key = gen.chance(4) ? R"("\u0069d")" : R"("id")";
    const std::string token_key = gen.chance(4) ? R"("progress\u0054oken")" : R"("progressToken")";
    const std::string id = gen.chance(2)   ? gen.string()
                           : gen.chance(2) ? "1.0"
                                           : "123456789012345678901234567890";
    JsonGen::Members meta = {{token_key, gen.number()}, {R"("traceparent")", gen.string()}};
    JsonGen::Members params = {{R"("name")", gen.string()}, {R"("arguments")", gen.value(4)}};
    JsonGen::Members top = {{R"("jsonrpc")", R"("2.0")"}, {id_key, id}, {R"("method")", R"("tools\/call")"}};
    const auto pad = [&gen](JsonGen::Members& members) {
      for (uint32_t n = gen.below(4); n > 0; --n) {
        members.emplace_back(gen.key(), gen.value(3));
        if (gen.chance(3)) members.emplace_back(members.back());  // unknown keys may stand twice
      }
      gen.shuffle(members);
    };
    pad(meta);
    const std::string meta_text = gen.object(meta);
    params.emplace_back(R"("_meta")", meta_text);
    pad(params);
    const std::string params_text = gen.object(params);
    top.emplace_back(R"("params")", params_text);
    pad(top);
    const std::string text = gen.space() + gen.object(top) + gen.space();

    const Message m = parse(text);
    REQUIRE(m.bytes() == text);
    REQUIRE(m.raw(Field::id) == id);
    REQUIRE(m.raw(Field::params_meta) == meta_text);
    REQUIRE(m.raw(Field::params) == params_text);
    REQUIRE(m.method() == "tools/call");

    // A new id: exactly the old bytes before and behind it.
    const json::Span at = m.at(Field::id);
    auto splice = m.splice();
    splice.replace(at, "4711");
    const std::string renamed = splice.apply();
    REQUIRE(renamed == text.substr(0, at.begin) + "4711" + text.substr(at.end));
    // And back again: the text as it came.
    const Message answer = parse(renamed);
    auto back = answer.splice();
    back.replace(answer.at(Field::id), id);
    REQUIRE(back.apply() == text);

    // Members of _meta go and come, together with the new id.
    auto edit = m.splice();
    edit.replace(at, "4711");
    edit.remove_member(m.at(Field::params_meta), m.key_at(Field::meta_progress_token),
                       m.at(Field::meta_progress_token));
    JsonGen::Members expected = none_left_out(meta, token_key);
    if (gen.chance(2)) {
      edit.remove_member(m.at(Field::params_meta), m.key_at(Field::meta_traceparent),
                         m.at(Field::meta_traceparent));
      expected = none_left_out(expected, R"("traceparent")");
    }
    if (gen.chance(2)) {
      edit.add_member(m.at(Field::params_meta), "progressToken", "17");
      expected.insert(expected.begin(), {R"("progressToken")", "17"});
    }
    const std::string edited = edit.apply();
    INFO(text << "\n" << edited);
    REQUIRE(json::validate(edited) == json::Fault::none);
    const Message e = parse(edited);
    REQUIRE(members_of(e.raw(Field::params_meta)) == expected);
    const auto same_but = [](JsonGen::Members a, JsonGen::Members b, const std::string& key) {
      for (auto* members : {&a, &b}) {
        for (auto& member : *members) {
          if (member.first == key) member.second.clear();
        }
      }
      return a == b;
    };
    REQUIRE(same_but(members_of(e.raw(Field::params)), params, R"("_meta")"));
    JsonGen::Members edited_top = members_of(edited);
    for (auto& member : edited_top) {
      if (member.first == id_key) member.second = id;
    }
    REQUIRE(same_but(edited_top, top, R"("params")"));
    // Before the first edit and behind the last one.
    const json::Span meta_at = m.at(Field::params_meta);
    const uint32_t first = std::min(at.begin, meta_at.begin + 1);
    const uint32_t tail = static_cast<uint32_t>(text.size()) - std::max(at.end, meta_at.end - 1);
    REQUIRE(edited.substr(0, first) == text.substr(0, first));
    REQUIRE(edited.substr(edited.size() - tail) == text.substr(text.size() - tail));

    // The whole of _meta goes.
    auto cut = m.splice();
    cut.remove_member(m.at(Field::params), m.key_at(Field::params_meta), m.at(Field::params_meta));
    const Message bare = parse(cut.apply());
    REQUIRE_FALSE(bare.has(Field::params_meta));
    REQUIRE(members_of(bare.raw(Field::params)) == none_left_out(params, R"("_meta")"));

    // As one line for stdio.
    std::string line = edited;
    json::flatten_lines(line);
    REQUIRE(line.find_first_of("\r\n") == std::string::npos);
    REQUIRE(members_of(parse(line).raw(Field::params_meta)).size() == expected.size());
  }
}
