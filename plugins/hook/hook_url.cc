#include "plugins/hook/hook_url.h"

#include <fmt/format.h>

#include "foundation/json/json_member.h"

namespace lineward::plugins {

void HookService::send(uint64_t id, std::string line) {
  auto request =
      plugin::json_post(where_.url, where_.headers, where_.ca_file, where_.timeout, std::move(line));
  under_way_[id] =
      host_.fetch(std::move(request), [this, id](const plugin::WebAnswer& answer) { answered(id, answer); });
}

void HookService::answered(uint64_t id, const plugin::WebAnswer& answer) {
  auto task = under_way_.extract(id);  // it is on the stack, and freed at the end of this function
  if (answer.status == 200 && json::validate(answer.body, json::kWrappedDepth) == json::Fault::none)
    return owner_.on_hook_answer(id, answer.body);
  if (answer.status == 204) return owner_.on_hook_answer(id, R"({"verdict":"proceed"})");
  if (answer.status == 200) owner_.on_hook_rubbish();
  owner_.on_hook_failed(id, answer.status == 0     ? "cannot be reached"
                            : answer.status == 200 ? "answered with something that is no JSON"
                                                   : fmt::format("answered with HTTP {}", answer.status));
}

}  // namespace lineward::plugins
