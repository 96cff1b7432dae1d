// Starting commands: what they get, what is told, what failed. How they end is in child_tree_test.cc.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "unit/foundation/process/child_family.h"

using namespace child_test;

TEST_CASE("a command gets its input and gives its output", "[child]") {
  Family family;
  auto run = family.launch({"cat"});
  REQUIRE(run);
  CHECK(run->calls == 0);  // never from inside start()
  CHECK(run->child->pid() == 0);
  CHECK(family.spawner->live() == 1);
  REQUIRE(write(run->in, "hello\n", 6) == 6);
  REQUIRE(family.until([&] {
    run->read_all();
    return run->out == "hello\n" && run->started;
  }));
  CHECK(run->child->pid() == *run->started);
  CHECK(run->child->running());
  run->close_in();
  REQUIRE(family.until_over(*run));
  CHECK(run->exited->code == 0);
  CHECK(run->exited->signal == 0);
  CHECK_FALSE(run->child->running());
  CHECK(run->calls == 2);
  CHECK(family.until_gone());
  CHECK(family.lost == 0);
}

TEST_CASE("exit code and signal are told", "[child]") {
  Family family;
  auto code = family.launch({"sh", "-c", "echo out; echo err >&2; exit 42"});
  auto killed = family.launch({"sh", "-c", "kill -USR1 $$"});
  REQUIRE(family.until_over(*code));
  REQUIRE(family.until_over(*killed));
  CHECK(code->exited->code == 42);
  CHECK(code->exited->signal == 0);
  CHECK(code->out == "out\n");
  CHECK(code->err == "err\n");
  CHECK(killed->exited->signal == SIGUSR1);
}

TEST_CASE("a command that is not there is told with the path that was searched", "[child]") {
  Family family;
  auto run = family.launch({"no-such-command"}, {"PATH=/usr/bin:/nowhere"});
  REQUIRE(family.until_over(*run));
  REQUIRE(run->failed);
  CHECK(run->failed->place == "find");
  CHECK(run->failed->code == ENOENT);
  CHECK(run->failed->text == "/usr/bin:/nowhere");
  CHECK_FALSE(run->started);
  CHECK_FALSE(run->exited);
  CHECK_FALSE(run->child->running());

  auto by_default = family.launch({"no-such-command"}, {});
  REQUIRE(family.until_over(*by_default));
  CHECK(by_default->failed->text == "/usr/local/bin:/usr/bin:/bin");

  auto by_name = family.launch({"./no-such-command"}, {Family::kPath}, "/usr");
  REQUIRE(family.until_over(*by_name));
  CHECK(by_name->failed->place == "find");
  CHECK(by_name->failed->code == ENOENT);
  CHECK(by_name->failed->text.empty());

  auto nothing = family.launch({});
  REQUIRE(family.until_over(*nothing));
  CHECK(nothing->failed->code == ENOENT);
  CHECK(family.until_gone());
}

TEST_CASE("what is there but cannot be run is told as such", "[child]") {
  Family family;
  const TempFolder folder;
  const std::string plain = folder.write("plain", "#!/bin/sh\necho ran\n", 0644);
  const std::string shebang = folder.write("shebang", "#!/bin/sh\necho ran\n", 0755);
  const std::string bare = folder.write("bare", "echo a shell has run this\n", 0755);
  const std::string lost_shell = folder.write("lost", "#!/nowhere/sh\n", 0755);

  auto run = [&](std::vector<std::string> argv, const std::string& path = "/bin",
                 const std::string& cwd = "") {
    auto started = family.launch(std::move(argv), {"PATH=" + path}, cwd);
    REQUIRE(family.until_over(*started));
    return started;
  };
  CHECK(run({plain})->failed->code == EACCES);
  const auto in_path = run({"plain"}, folder.path() + ":/bin");
  CHECK(in_path->failed->code == EACCES);
  CHECK(in_path->failed->text == folder.path() + ":/bin");
  CHECK(run({folder.path()})->failed->code == EACCES);

  CHECK(run({shebang})->out == "ran\n");
  CHECK(run({"./shebang"}, "/bin", folder.path())->out == "ran\n");
  CHECK(run({"shebang"}, "/bin:", folder.path())->out == "ran\n");  // an empty entry is the working directory

  // Never handed to a shell.
  CHECK(run({bare})->failed->code == ENOEXEC);
  const auto no_format = run({"bare"}, folder.path());
  CHECK(no_format->failed->place == "exec");
  CHECK(no_format->failed->code == ENOEXEC);
  CHECK(no_format->out.empty());
  CHECK(run({lost_shell})->failed->place == "exec");
}

TEST_CASE("arguments are not words for a shell", "[child]") {
  Family family;
  auto run = family.launch({"printf", "%s|", "a b", "$HOME", "", "`id`", "*", "\xff\n"});
  REQUIRE(family.until_over(*run));
  CHECK(run->out == "a b|$HOME||`id`|*|\xff\n|");

  auto cut = family.launch({"printf", std::string("a\0b", 3)});
  REQUIRE(family.until_over(*cut));
  CHECK(cut->failed->code == EINVAL);
}

TEST_CASE("the working directory is the one asked for", "[child]") {
  Family family;
  auto there = family.launch({"/bin/pwd"}, {}, "/usr");
  auto here = family.launch({"/bin/pwd"}, {});
  auto nowhere = family.launch({"/bin/pwd"}, {}, "/no/such/folder");
  REQUIRE(family.until_over(*there));
  REQUIRE(family.until_over(*here));
  REQUIRE(family.until_over(*nowhere));
  CHECK(there->out == "/usr\n");
  char own[4096];
  REQUIRE(getcwd(own, sizeof own) != nullptr);
  CHECK(here->out == std::string(own) + "\n");
  CHECK(nowhere->failed->place == "chdir");
  CHECK(nowhere->failed->code == ENOENT);
}

TEST_CASE("the environment is exactly the one given", "[child]") {
  Family family;
  auto run = family.launch({"/usr/bin/env"}, {"B=2", "A=a b=c", "EMPTY="});
  REQUIRE(family.until_over(*run));
  CHECK(run->out == "B=2\nA=a b=c\nEMPTY=\n");

  std::vector<std::string> large;
  size_t expected = 0;
  for (int i = 0; i < 10; ++i) {
    large.push_back("LARGE" + std::to_string(i) + "=" + std::string(80'000, 'x'));
    expected += large.back().size() + 1;
  }
  auto big = family.launch({"/usr/bin/env"}, large);
  REQUIRE(family.until_over(*big));
  CHECK(big->out.size() == expected);
}

TEST_CASE("a command too large to send is refused with the limit", "[child]") {
  Family family;
  const size_t fds = open_fds();
  auto refused = family.spawner->start({{"cat", std::string(2 << 20, 'x')}, {}, ""}, {});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().text.find("1048576") != std::string::npos);
  CHECK(family.spawner->live() == 0);
  CHECK(open_fds() == fds);
}

TEST_CASE("a command inherits three pipes and a plain state, nothing else", "[child]") {
  int leaky[2];
  REQUIRE(pipe(leaky) == 0);  // not close-on-exec
  Family family;
  auto other = family.launch({"cat"});
  REQUIRE(family.until([&] { return other->started.has_value(); }));

  auto fds = family.launch({"ls", "/proc/self/fd"});
  REQUIRE(family.until_over(*fds));
  CHECK(fds->out == "0\n1\n2\n3\n");  // 3 is the folder ls reads

  auto pipes = family.launch({"readlink", "/proc/self/fd/0", "/proc/self/fd/1", "/proc/self/fd/2"});
  REQUIRE(family.until_over(*pipes));
  CHECK(pipes->out.find("pipe:[") == 0);
  CHECK(std::count(pipes->out.begin(), pipes->out.end(), 'p') == 6);

  auto reopened = family.launch({"cat", "/dev/stdin"});
  REQUIRE(write(reopened->in, "again", 5) == 5);
  reopened->close_in();
  REQUIRE(family.until_over(*reopened));
  CHECK(reopened->out == "again");

  auto state = family.launch({"grep", "-E", "^Sig(Blk|Ign)|^ShdPnd", "/proc/self/status"});
  REQUIRE(family.until_over(*state));
  CHECK(state->out.find("SigBlk:\t0000000000000000") != std::string::npos);
  INFO(state->out);
  CHECK(state->out.find("SigIgn:\t0000000000000000") != std::string::npos);

  auto session = family.launch({"cut", "-d ", "-f1,5,6,7", "/proc/self/stat"});
  REQUIRE(family.until_over(*session));
  const std::string pid = std::to_string(*session->started);
  CHECK(session->out == pid + " " + pid + " " + pid + " 0\n");  // own group, own session, no terminal
  close(leaky[0]);
  close(leaky[1]);
}

TEST_CASE("many quick commands leave no zombie and no descriptor", "[child]") {
  Family family;
  auto warm = family.launch({"true"});
  REQUIRE(family.until_over(*warm));
  REQUIRE(family.until_gone());
  warm.reset();
  const size_t own = open_fds();
  const size_t spawners = open_fds(family.spawner_pid);
  for (int round = 0; round < 10; ++round) {
    Runs runs;
    for (int i = 0; i < 20; ++i)
      runs.push_back(family.launch({i % 4 == 3 ? "no-such-command" : "true"}));
    for (auto& run : runs) {
      REQUIRE(family.until_over(*run));
      CHECK(run->calls == (run->failed ? 1 : 2));
    }
  }
  REQUIRE(family.until_gone());
  CHECK(open_fds() == own);
  CHECK(open_fds(family.spawner_pid) == spawners);
  const auto left = spawning::children_of(family.spawner_pid);
  REQUIRE(left);
  CHECK(left->empty());
}

TEST_CASE("many commands at once with large output", "[child]") {
  Family family;
  constexpr size_t kBytes = 2'000'000;
  Runs runs;
  for (int i = 0; i < 40; ++i)
    runs.push_back(family.launch({"head", "-c", std::to_string(kBytes), "/dev/zero"}));
  CHECK(family.until([&] {
    bool all = true;
    for (auto& run : runs) {
      run->read_all();
      all = all && run->over();
    }
    return all;
  }));
  for (auto& run : runs) {
    CHECK(run->out.size() == kBytes);
    REQUIRE(run->exited);
    CHECK(run->exited->code == 0);
  }
}

TEST_CASE("a spawner that does not keep up stops new commands, not the loop", "[child]") {
  Family family;
  REQUIRE(kill(family.spawner_pid, SIGSTOP) == 0);
  Runs runs;
  std::string refusal;
  for (int i = 0; i < 2000 && refusal.empty(); ++i) {
    auto run = std::make_unique<Run>();
    auto child = family.spawner->start({{"true"}, {Family::kPath}, ""}, Family::events_for(run.get()));
    if (!child) {
      refusal = child.error().text;
      CHECK(child.error().retryable);
      break;
    }
    Family::adopt(run.get(), std::move(child.value()));
    runs.push_back(std::move(run));
  }
  CHECK_FALSE(refusal.empty());
  CHECK(runs.size() >= 64);
  kill(family.spawner_pid, SIGCONT);
  for (auto& run : runs) {
    REQUIRE(family.until_over(*run));
    CHECK(run->exited);
  }
  CHECK(family.until_gone());
}

TEST_CASE("a child may be destroyed from inside its own callbacks", "[child]") {
  Family family;
  std::unique_ptr<ChildProcess> child;
  int calls = 0;
  ChildProcess::Events on_exit;
  on_exit.exited = [&](ExitStatus) { child.reset(), ++calls; };
  child = std::move(family.spawner->start({{"true"}, {Family::kPath}, ""}, std::move(on_exit)).value());
  REQUIRE(family.until([&] { return calls == 1; }));

  ChildProcess::Events on_failure;
  on_failure.failed = [&](const Error& failure) {
    child.reset(), ++calls;
    CHECK(failure.place == "find");
  };
  child = std::move(family.spawner->start({{"no-such"}, {Family::kPath}, ""}, std::move(on_failure)).value());
  REQUIRE(family.until([&] { return calls == 2; }));

  ChildProcess::Events on_start;
  on_start.started = [&](pid_t) { child.reset(), ++calls; };
  on_start.exited = [&](ExitStatus) { ++calls; };
  child = std::move(
      family.spawner->start({{"sleep", new_tag()}, {Family::kPath}, ""}, std::move(on_start)).value());
  REQUIRE(family.until([&] { return calls == 3; }));
  REQUIRE(family.until_gone());
  CHECK(calls == 3);  // nothing after destruction
}
