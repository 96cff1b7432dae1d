// Ending commands: all their processes end with them, in any order of deaths.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "unit/foundation/process/child_family.h"

using namespace child_test;

namespace {

std::vector<std::string> shell(const std::string& script) {
  return {"sh", "-c", script};
}

// Commands with descendants of every kind, and how many of them sleep once all have been started.
struct Tree {
  std::string name;
  std::string script;
  int size;
};

std::vector<Tree> trees(const std::string& tag) {
  const std::string sleep = "sleep " + tag;
  return {
      {"a grandchild", sleep + " & exec " + sleep, 2},
      {"a grandchild in a session of its own", "setsid " + sleep + " & exec " + sleep, 2},
      {"a daemon", "(setsid sh -c '" + sleep + " & :' &) ; exec " + sleep, 2},
      {"deaf ones", "trap '' TERM HUP INT; (setsid " + sleep + " &) ; " + sleep + " & exec " + sleep, 3},
      {"a shell that stays", "sh -c '" + sleep + "; :' & " + sleep + "; :", 2},
  };
}

std::vector<pid_t> all_below(pid_t root) {
  std::vector<pid_t> found;
  std::vector<pid_t> open{root};
  while (!open.empty()) {
    const pid_t pid = open.back();
    open.pop_back();
    for (const pid_t child : spawning::children_of(pid).value_or(std::vector<pid_t>{})) {
      found.push_back(child);
      open.push_back(child);
    }
  }
  return found;
}

// All shells on the way have become what they should.
bool ready(const std::string& tag, int size) {
  return tagged(std::string("sleep\0", 6) + tag) == size;
}

// All of the tree, once it stands.
std::unique_ptr<Run> stand(Family& family, const Tree& tree, const std::string& tag) {
  auto run = family.launch(shell(tree.script));
  REQUIRE(family.until([&] { return ready(tag, tree.size); }));
  return run;
}

// Each tree in turn is ended in some way, and then nothing is left of it.
void end_each(Family& family, const std::string& tag, const std::function<void(Run&)>& end) {
  for (const Tree& tree : trees(tag)) {
    INFO(tree.name);
    const auto run = stand(family, tree, tag);
    end(*run);
    REQUIRE(family.until_gone());
    CHECK(tagged(tag) == 0);
  }
}

// All trees at once, and how many processes sleep once they stand.
struct Forest {
  Runs runs;
  int size = 0;

  Forest(Family& family, const std::string& tag) {
    for (const Tree& tree : trees(tag)) {
      runs.push_back(family.launch(shell(tree.script)));
      size += tree.size;
    }
  }
};

bool says(Family& family, Run& run, const std::string& text) {
  return family.until([&] {
    run.read_all();
    return run.out == text;
  });
}

}  // namespace

TEST_CASE("TERM lets a command end in its own way", "[child]") {
  Family family;
  auto run = family.launch(shell("trap 'echo bye; exit 3' TERM; echo up; while :; do sleep 0.02; done"));
  REQUIRE(says(family, *run, "up\n"));
  run->child->signal(TreeSignal::term);
  REQUIRE(family.until_over(*run));
  CHECK(run->out == "up\nbye\n");
  CHECK(run->exited->code == 3);
  CHECK(family.until_gone());
}

TEST_CASE("TERM right after the start is not lost", "[child]") {
  Family family;
  for (int i = 0; i < 20; ++i) {
    auto run = family.launch({"sleep", new_tag()});
    run->child->signal(TreeSignal::term);
    REQUIRE(family.until_over(*run));
    REQUIRE(run->exited);
    CHECK(run->exited->signal == SIGTERM);
  }
}

TEST_CASE("TERM reaches a stopped command", "[child]") {
  Family family;
  auto run = family.launch({"sleep", new_tag()});
  REQUIRE(family.until([&] { return run->started.has_value(); }));
  REQUIRE(kill(*run->started, SIGSTOP) == 0);
  run->child->signal(TreeSignal::term);
  REQUIRE(family.until_over(*run));
  CHECK(run->exited->signal == SIGTERM);
}

TEST_CASE("TERM reaches descendants of descendants", "[child]") {
  Family family;
  // Each stays, so none of them is an orphan that is found as a child of its own; the last is in no group of
  // theirs.
  auto run = family.launch(
      shell("export last='trap \"echo tidied; exit\" TERM; echo up; while :; do sleep 0.02; done'\n"
            "export middle='trap : TERM; setsid sh -c \"$last\" & while :; do sleep 0.02; done'\n"
            "trap : TERM; sh -c \"$middle\" & while :; do sleep 0.02; done"));
  REQUIRE(says(family, *run, "up\n"));
  run->child->signal(TreeSignal::term);
  CHECK(says(family, *run, "up\ntidied\n"));
  CHECK(!run->exited);
  run->child->signal(TreeSignal::kill);
  REQUIRE(family.until_over(*run));
  CHECK(family.until_gone());
}

TEST_CASE("KILL ends a command that does not listen to TERM", "[child]") {
  Family family;
  const std::string tag = new_tag();
  auto run = family.launch(shell("trap '' TERM; echo deaf; exec sleep " + tag));
  REQUIRE(says(family, *run, "deaf\n"));
  run->child->signal(TreeSignal::term);
  run->child->signal(TreeSignal::kill);
  REQUIRE(family.until_over(*run));
  CHECK(run->exited->signal == SIGKILL);
  CHECK(family.until_gone());
  CHECK(tagged(tag) == 0);
}

TEST_CASE("KILL ends all descendants", "[child]") {
  Family family;
  const std::string tag = new_tag();
  end_each(family, tag, [&](Run& run) {
    run.child->signal(TreeSignal::kill);
    REQUIRE(family.until_over(run));
    CHECK(run.exited->signal == SIGKILL);
  });
}

TEST_CASE("descendants end after the command did", "[child]") {
  Family family;
  const std::string tag = new_tag();
  end_each(family, tag, [&](Run& run) {
    REQUIRE(family.until([&] { return run.started.has_value(); }));
    REQUIRE(kill(*run.started, SIGKILL) == 0);
    REQUIRE(family.until([&] { return run.exited.has_value(); }));
    CHECK(run.exited->signal == SIGKILL);
  });
  // They are asked first.
  auto polite = family.launch(
      shell("(trap 'echo tidied; exit' TERM; echo up; while :; do sleep 0.02; done) & read line; exit 5"));
  REQUIRE(says(family, *polite, "up\n"));
  polite->close_in();
  REQUIRE(family.until_over(*polite));
  CHECK(polite->exited->code == 5);
  CHECK(polite->out == "up\ntidied\n");
  CHECK(family.until_gone());
}

TEST_CASE("destroying a child kills its tree", "[child]") {
  Family family;
  const std::string tag = new_tag();
  end_each(family, tag, [&](Run& run) {
    run.child.reset();
    const int calls = run.calls;
    REQUIRE(family.until_gone());
    CHECK(run.calls == calls);
  });
  for (int i = 0; i < 20; ++i) {  // also before anything is known of it
    auto run = family.launch({"sleep", tag});
    run.reset();
  }
  REQUIRE(family.until_gone());
  CHECK(tagged(tag) == 0);
}

TEST_CASE("destroying the spawner's end kills everything", "[child]") {
  const std::string tag = new_tag();
  {
    Family family;
    const Forest forest(family, tag);
    REQUIRE(family.until([&] { return ready(tag, forest.size); }));
  }  // waits for the spawner's end
  CHECK(tagged(tag) == 0);
}

TEST_CASE("a killed supervisor takes only its own command along", "[child]") {
  Family family;
  const std::string tag = new_tag();
  auto other = family.launch({"cat"});
  REQUIRE(family.until([&] { return other->started.has_value(); }));
  const auto others = spawning::children_of(family.spawner_pid);
  REQUIRE(others);
  REQUIRE(others->size() == 1);
  for (const Tree& tree : trees(tag)) {
    INFO(tree.name);
    const auto run = stand(family, tree, tag);
    REQUIRE(family.until([&] { return run->started.has_value(); }));
    const auto supervisors = spawning::children_of(family.spawner_pid).value();
    for (const pid_t supervisor : supervisors) {
      if (supervisor != others->front()) kill(supervisor, SIGKILL);
    }
    REQUIRE(family.until([&] { return run->exited.has_value(); }));
    CHECK(run->exited->signal == SIGKILL);
    REQUIRE(family.until([&] { return family.spawner->live() == 1; }));
    CHECK(tagged(tag) == 0);
    CHECK(run->calls == 2);
  }
  REQUIRE(write(other->in, "still here", 10) == 10);
  other->close_in();
  REQUIRE(family.until_over(*other));
  CHECK(other->out == "still here");
  CHECK(other->exited->code == 0);
}

TEST_CASE("a killed spawner is told once, and nothing stays", "[child]") {
  const Reaper reaper;
  const std::string tag = new_tag();
  Family family;
  const Forest forest(family, tag);
  const Runs& runs = forest.runs;
  REQUIRE(family.until([&] {
    return ready(tag, forest.size) &&
           std::all_of(runs.begin(), runs.end(), [](const auto& run) { return run->started.has_value(); });
  }));
  auto dropped = family.launch({"sleep", tag});
  REQUIRE(kill(family.spawner_pid, SIGKILL) == 0);
  family.spawner_killed = true;
  auto unanswered = family.launch({"sleep", tag});
  REQUIRE(unanswered);
  dropped->child.reset();
  REQUIRE(family.until([&] { return family.lost > 0; }));
  for (const auto& run : runs) {
    REQUIRE(run->exited);
    CHECK(run->exited->signal == SIGKILL);
    CHECK(run->calls == 2);
  }
  CHECK(family.spawner->live() == 0);
  REQUIRE(unanswered->failed);
  CHECK(unanswered->failed->place == "spawner");
  CHECK(wait_for(Reaper::none_left));
  CHECK(tagged(tag) == 0);

  auto late = family.launch({"true"});
  REQUIRE(late);
  CHECK(late->calls == 0);
  REQUIRE(family.until([&] { return late->failed.has_value(); }));
  CHECK(late->failed->place == "spawner");
  auto unheard = family.launch({"true"});
  unheard.reset();
  CHECK(family.until_gone());
  CHECK(family.lost == 1);
}

namespace {

// A gateway process with every kind of tree below it, to be killed.
struct Gateway {
  pid_t pid = 0;
  pid_t spawner = 0;
};

Gateway start_gateway(const std::string& tag) {
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  const pid_t pid = fork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // should the test itself be stopped
    close(ends[0]);
    {
      Family family;
      Runs runs;
      int total = 0;
      for (const Tree& tree : trees(tag)) {
        runs.push_back(family.launch(shell(tree.script)));
        total += tree.size;
      }

      const pid_t spawner = family.until([&] { return ready(tag, total); }) ? family.spawner_pid : 0;
      if (write(ends[1], &spawner, sizeof spawner) < 0) _exit(1);
      family.until([] { return false; });
      runs.clear();
    }
    _exit(1);
  }
  close(ends[1]);
  Gateway gateway;
  gateway.pid = pid;
  const bool told = read(ends[0], &gateway.spawner, sizeof gateway.spawner) == sizeof gateway.spawner;
  close(ends[0]);
  if (!told || gateway.spawner == 0) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    FAIL("the gateway's children did not all start");
  }
  return gateway;
}

enum class Victim { gateway, gateway_and_spawner, spawner_then_gateway, gateway_and_supervisors };

}  // namespace

TEST_CASE("kill -9 of the gateway leaves no process behind", "[child]") {
  const auto victim = GENERATE(Victim::gateway, Victim::gateway_and_spawner, Victim::spawner_then_gateway,
                               Victim::gateway_and_supervisors);
  CAPTURE(static_cast<int>(victim));
  const Reaper reaper;
  const std::string tag = new_tag();
  const Gateway gateway = start_gateway(tag);
  const std::vector<pid_t> family = all_below(gateway.pid);
  const std::vector<pid_t> supervisors = spawning::children_of(gateway.spawner).value();
  CHECK(supervisors.size() == 5);
  CHECK(family.size() >= 1 + 5 + 13);
  switch (victim) {
    case Victim::gateway: kill(gateway.pid, SIGKILL); break;
    case Victim::gateway_and_spawner:
      kill(gateway.pid, SIGKILL);
      kill(gateway.spawner, SIGKILL);
      break;
    case Victim::spawner_then_gateway:
      kill(gateway.spawner, SIGKILL);
      kill(gateway.pid, SIGKILL);
      break;
    case Victim::gateway_and_supervisors:
      kill(gateway.pid, SIGKILL);
      for (const pid_t supervisor : supervisors)
        kill(supervisor, SIGKILL);
      break;
  }
  CHECK(wait_for(Reaper::none_left));
  CHECK(std::none_of(family.begin(), family.end(), is_alive));
  CHECK(tagged(tag) == 0);
}

TEST_CASE("signals for everything called lineward do not end the spawner", "[child]") {
  Family family;
  auto run = family.launch({"cat"});
  REQUIRE(family.until([&] { return run->started.has_value(); }));
  const auto supervisors = spawning::children_of(family.spawner_pid).value();
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGPIPE, SIGQUIT}) {
    kill(family.spawner_pid, number);
    for (const pid_t supervisor : supervisors)
      kill(supervisor, number);
  }
  CHECK(getsid(family.spawner_pid) == family.spawner_pid);
  CHECK(contents("/proc/" + std::to_string(family.spawner_pid) + "/comm") == "lineward-spawn\n");
  CHECK(contents("/proc/" + std::to_string(supervisors.at(0)) + "/comm") == "lineward-keep\n");
  REQUIRE(write(run->in, "on", 2) == 2);
  run->close_in();
  REQUIRE(family.until_over(*run));
  CHECK(run->out == "on");
  CHECK(family.lost == 0);
}
