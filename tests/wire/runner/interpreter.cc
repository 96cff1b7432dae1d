#include "interpreter.h"

#include <fmt/format.h>
#include <signal.h>

namespace lineward::wire {

using namespace std::chrono_literals;

std::string dedent(std::string_view yaml) {
  if (yaml.size() >= 2 && yaml[0] == '{') yaml = yaml.substr(1, yaml.size() - 2);
  std::vector<std::string> lines;
  size_t common = std::string::npos;
  for (size_t at = 0; at <= yaml.size();) {
    size_t end = std::min(yaml.find('\n', at), yaml.size());
    lines.emplace_back(yaml.substr(at, end - at));
    auto first = lines.back().find_first_not_of(' ');
    if (first != std::string::npos && at != 0) common = std::min(common, first);
    at = end + 1;
  }
  std::string out;
  for (size_t i = 0; i < lines.size(); ++i) {
    auto first = lines[i].find_first_not_of(' ');
    if (first == std::string::npos) continue;
    out += lines[i].substr(i == 0 || common == std::string::npos ? first : common) + "\n";
  }
  return out;
}

// Below what the watchdog of main.cc leaves.
constexpr auto kEnd = 20s;

Interpreter::Interpreter(Run& run, const GatewayProgram& program) : Peer(run, "script"), program_(program) {}

Interpreter::~Interpreter() {
  run_.stop();
  for (auto& [name, client] : clients_)
    client->join();
  stdio_clients_.clear();
  gateways_.clear();
  upstreams_.clear();
  origins_.clear();
  kill_tagged(run_.tag());
}

void Interpreter::run_script() {
  try {
    run_block(run_.script().commands);
    wait_for_peers();
    end_gateways();
  } catch (const Failure& failure) {
    run_.fail(failure.line, failure.what());
  } catch (const Stopped&) {
  } catch (const std::exception& other) {
    run_.fail(line(), other.what());
  }
}

void Interpreter::wait_for_peers() {
  for (auto& [name, client] : clients_)
    client->join();
  for (auto& [name, client] : stdio_clients_)
    client->join();
  for (auto& [name, upstream] : upstreams_)
    upstream->wait();
  for (auto& [name, http_origin] : origins_)
    http_origin->wait();
  check_stopped();
  run_.finish();
}

// Every script ends with this check: SIGTERM, exit 0, and nothing is left. It has its own time: what the
// script took is none of it, and a gateway that has much to free takes long for that on a busy machine.
void Interpreter::end_gateways() {
  bool asked = false;
  for (auto& [name, gateway] : gateways_) {
    if (gateway->running()) {
      gateway->signal("TERM");
      int code = gateway->wait_exit(Clock::now() + kEnd);
      bool foreign = !program_.command_template.empty();
      if (code != 0 && !foreign)
        fail(fmt::format("at the end of the script: {} exits {} after SIGTERM", name, code));
      asked = true;
    }
    if (auto text = gateway->complaint(); !text.empty()) fail(name + " complains: " + text);
  }
  if (asked && !allow_leftovers_) expect_no_process(run_.tag(), Clock::now() + kEnd);
}

void Interpreter::expect_no_process(const std::string& tag, Clock::time_point deadline) {
  for (;;) {
    auto left = tagged_processes(tag);
    for (auto& [name, gateway] : gateways_) {
      // A killed gateway without a wait is no leftover; this collects it.
      if (gateway->running()) try {
          gateway->wait_exit(Clock::now());
        } catch (const std::runtime_error&) {
        }
    }
    if (left.empty()) return;
    check_stopped();
    if (Clock::now() >= deadline) {
      std::string text;
      for (auto pid : left)
        text += "\n      " + describe_process(pid);
      fail("processes are left:" + text);
    }
    std::this_thread::sleep_for(10ms);
  }
}

void Interpreter::execute(const Command& command) {
  auto verb = command.verb();
  if (verb == "upstream") {
    on_upstream(command);
  } else if (verb == "client") {
    on_client(command);
  } else if (verb == "gateway") {
    on_gateway(command);
  } else if (verb == "expect-no-process") {
    expect_no_process(arg(command, 0), std::min(deadline(), Clock::now() + 10s));
  } else if (verb == "allow-leftovers") {
    allow_leftovers_ = true;
  } else if (verb != "wiretest" && verb != "timeout") {
    fail("the verb " + std::string(verb) + " is not possible here");
  }
}

void Interpreter::on_upstream(const Command& command) {
  const auto& name = command.args[0].text;
  if (command.flag("http")) {
    auto& http_origin = origins_[name] = std::make_unique<HttpOrigin>(run_, command);
    return http_origin->start();
  }
  if (auto found = origins_.find(name); found != origins_.end()) return found->second->wait();
  auto& slot = upstreams_[name];
  if (command.has_block) {
    slot = std::make_unique<Upstream>(run_, command, run_.get("runner")->text);
  }
  if (!slot) fail("no upstream is called " + name);
  if (command.flag("wait")) slot->wait();
}

void Interpreter::on_client(const Command& command) {
  const auto& name = command.args[0].text;
  if (command.flag("stdio") || stdio_clients_.count(name)) return on_stdio_client(command);
  auto& slot = clients_[name];
  if (command.has_block) {
    slot = std::make_unique<Client>(run_, command);
    slot->start();
  }
  if (!slot) fail("no client is called " + name);
  if (command.flag("run") || command.flag("wait")) {
    slot->join();
    check_stopped();
  }
}

void Interpreter::on_stdio_client(const Command& command) {
  const auto& name = command.args[0].text;
  auto& slot = stdio_clients_[name];
  if (command.has_block) {
    auto gateway = gateways_.find(option(command, "stdio"));
    if (gateway == gateways_.end()) fail("no gateway is called " + option(command, "stdio"));
    auto [to, from] = gateway->second->take_stdio();
    slot = std::make_unique<StdioClient>(run_, command, to, from);
    slot->start();
  }
  if (command.flag("run") || command.flag("wait")) {
    slot->join();
    check_stopped();
  }
}

void Interpreter::start_gateway(Gateway& gateway, const Command& command) {
  Gateway::Setup setup;
  setup.args = split_words(option(command, "args"));
  setup.stdio = command.flag("stdio");
  setup.keep_workers = command.option("keep-workers") != nullptr;
  if (const Word* conf = command.option("conf")) setup.conf = dedent(expand(*conf));
  if (const Word* behind = command.option("upstream")) {
    auto line_of = run_.get(behind->text + ".command");
    if (auto url = run_.get(behind->text + ".url"); url && origins_.count(behind->text)) {
      setup.conf = fmt::format("mcpServers:\n  {}:\n    url: {}\n", behind->text, url->text);
    } else if (line_of) {
      setup.upstream = split_words(line_of->text);
    } else {
      fail("no upstream is called " + behind->text);
    }
  } else if (!program_.command_template.empty() && !upstreams_.empty()) {
    setup.upstream = split_words(run_.get(upstreams_.begin()->first + ".command")->text);
  }
  gateway.start(setup);
}

void Interpreter::on_gateway(const Command& command) {
  const auto& name = command.args[0].text;
  auto& slot = gateways_[name];
  if (!slot || command.flag("start")) slot = std::make_unique<Gateway>(run_, name, program_);
  if (command.flag("start")) start_gateway(*slot, command);
  for (const auto& option : command.options) {
    auto value = expand(option.value);
    if (option.name == "signal") {
      slot->signal(value);
    } else if (option.name == "reload") {
      slot->reload(dedent(value), deadline());
    } else if (option.name == "kill") {
      slot->signal("KILL");
    } else if (option.name == "wait-exit") {
      int code = slot->wait_exit(deadline());
      if (std::to_string(code) != value) fail(fmt::format("expected exit code {}; came {}", value, code));
    } else if (option.name == "expect-log") {
      slot->expect_log(value, -1, deadline());
    } else if (option.name == "no-log") {
      slot->no_log(value);
    } else if (option.name == "log-count") {
      auto text = value.substr(0, 1) == "{" ? value.substr(1, value.size() - 2) : value;
      size_t used = 0;
      int count = std::stoi(text, &used);
      auto start = text.find_first_not_of(' ', used), end = text.find_last_not_of(' ');
      slot->expect_log(start == std::string::npos ? "" : text.substr(start, end + 1 - start), count,
                       deadline());
    }
  }
}

}  // namespace lineward::wire
