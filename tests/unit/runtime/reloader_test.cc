#include "runtime/reloader.h"

#include <sys/resource.h>
#include <sys/wait.h>

#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "foundation/process/spawner.h"
#include "proxy/cluster/worker_pool.h"

using namespace lineward;
using namespace lineward::runtime;
using namespace std::chrono_literals;

namespace {

config::LoadResult load(const std::string& text) {
  config::LoadOptions options;
  options.read_files = false;
  config::LoadResult result = config::load_text(text, "test.yaml", options);
  INFO(result.report(false));
  REQUIRE(result.ok());
  return result;
}

// While it lives no descriptor is to be had.
class NoDescriptors {
 public:
  NoDescriptors() {
    getrlimit(RLIMIT_NOFILE, &before_);
    rlimit none = before_;
    none.rlim_cur = 3;
    setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

// A configuration in a directory of its own, with the files that it includes.
struct Files {
  Files() {
    std::string name = "/tmp/lineward-reload-XXXXXX";
    REQUIRE(mkdtemp(name.data()) != nullptr);
    folder = name;
  }
  ~Files() { std::filesystem::remove_all(folder); }
  std::string path(const std::string& name) const { return folder + "/" + name; }
  void write(const std::string& name, const std::string& text) const { std::ofstream(path(name)) << text; }
  config::ReadAgain reader() {
    return [this](const std::set<std::string>&) {
      ++reads;
      return config::load_file(path("main.yaml"), {});
    };
  }
  std::string folder;
  int reads = 0;
};

std::string server(const std::string& called) {
  return "mcpServers: {" + called + ": {url: 'http://127.0.0.1:1/mcp'}}\n";
}

const std::string kWatching = "listen: {address: '127.0.0.1:0'}\nworkers: 2\nreload: {watch: true}\n";

// Two workers that listen, both on this thread.
class TwoWorkers final : public WorkerDirectory {
 public:
  explicit TwoWorkers(const std::string& text) {
    for (size_t k = 0; k < 2; ++k) {
      Worker::Place place;
      place.index = k;
      place.pool = &pool_;
      place.caps = caps_;
      place.in_flight = std::make_shared<exchange::InFlight>();
      WorkerEvents events;
      events.ready = [](const std::string&, const upstream::EraVerdict&) {};
      events.left = [] {};
      workers_[k] = std::make_unique<Worker>(load(text).config, std::move(place),
                                             process::fork_spawner(&spawners_[k]).value(), std::move(events));
      REQUIRE(workers_[k]->prepare());
    }
    REQUIRE(workers_[0]->listen());
    const net::Listener* first = listener(0).newest();
    REQUIRE(workers_[1]->listen_with(first->share(), first->address(), first->is_loopback()));
  }
  ~TwoWorkers() {
    for (size_t k = 2; k-- > 0;) {
      workers_[k].reset();
      waitpid(spawners_[k], nullptr, 0);
    }
  }

  const std::vector<config::Server>& servers() const { return workers_[0]->config().servers; }
  void run_for(std::chrono::milliseconds time) {
    net::Loop& loop = workers_[0]->loop();
    net::Timer until(loop);
    until.start(time, [&] { loop.stop(); });
    loop.run();
  }
  client::FrontListener& listener(size_t k) { return workers_[k]->http()->listener(); }
  // The second worker gets no descriptor when it is to listen at the next address.
  void exhaust_second() { exhausted_ = true; }
  // The second worker's loop stands still from when the next reload is prepared, until it is let go.
  void stop_second() { stands_next_ = true; }
  void let_go() { stands_ = false; }

  Worker& worker(size_t index) override { return *workers_[index]; }
  bool is_on_all(const std::string& server) const override {
    return cluster::shared_server(placement_, server) != nullptr;
  }
  const cluster::ServerPlacement& placement() const override { return placement_; }
  void use_placement(cluster::ServerPlacement placement) override {
    placement_ = std::move(placement);
    stands_ = std::exchange(stands_next_, false);
  }
  size_t workers() const override { return workers_.size(); }
  const admin::WorkerView& view(size_t) const override { throw std::logic_error("nobody looks"); }
  size_t host(const std::string&) const override { return 0; }
  bool run(size_t worker, const std::function<void()>& work) override {
    if (worker == 1 && stands_) return false;
    const bool opens = listener(0).newest()->address() != listener(0).address();
    if (worker == 1 && opens && std::exchange(exhausted_, false)) {
      const NoDescriptors none;
      work();
    } else {
      work();
    }
    return true;
  }
  bool paused(const std::function<void()>& work) override {
    work();
    return true;
  }
  void tell_first(std::function<void()> work) override { work(); }
  uint64_t slowest_beat() const override { return 0; }

 private:
  cluster::WorkerPool pool_{2};
  std::shared_ptr<client::ConnectionCaps> caps_ = std::make_shared<client::ConnectionCaps>();
  cluster::ServerPlacement placement_;
  std::array<pid_t, 2> spawners_{};
  std::array<std::unique_ptr<Worker>, 2> workers_;
  bool exhausted_ = false;
  bool stands_next_ = false, stands_ = false;
};

}  // namespace

TEST_CASE("a reload closes its next address on all workers if one of them cannot listen at it") {
  const std::string servers =
      "workers: 2\nmcpServers: {s: {url: 'http://127.0.0.1:1/mcp', disabled: true}}\n";
  TwoWorkers workers("listen: {address: '127.0.0.1:0'}\n" + servers);
  const bool draining = false;
  Reloader reloader(
      workers, draining,
      [&](const std::set<std::string>&) { return load("listen: {address: '127.0.0.2:0'}\n" + servers); },
      "test.yaml");
  const std::string before = workers.listener(0).address();

  workers.exhaust_second();
  auto report = reloader.reload(false, "test");
  CHECK(report.outcome == admin::ReloadReport::Outcome::rejected);
  CHECK(report.error.find("cannot listen on 127.0.0.2") == 0);
  for (size_t k = 0; k < 2; ++k)
    CHECK(workers.listener(k).newest()->address() == before);

  report = reloader.reload(false, "test");
  CHECK(report.error.empty());
  for (size_t k = 0; k < 2; ++k)
    CHECK(workers.listener(k).address().find("127.0.0.2:") == 0);
}

TEST_CASE(
    "a bad file that is put back as it was is a good one, and its error is told again when it returns") {
  const std::string good =
      "listen: {address: '127.0.0.1:0'}\nworkers: 2\n"
      "mcpServers: {s: {url: 'http://127.0.0.1:1/mcp', disabled: true}}\n";
  TwoWorkers workers(good);
  const bool draining = false;
  std::string file = good;
  Reloader reloader(
      workers, draining,
      [&](const std::set<std::string>&) { return config::load_text(file, "test.yaml", {}); }, "test.yaml");
  const admin::ReloadCounts& counts = reloader.counts();

  file = good + "shutdown: {grace: never}\n";
  CHECK(reloader.reload(false, "watch").outcome == admin::ReloadReport::Outcome::rejected);
  CHECK_FALSE(counts.last_ok);
  CHECK(counts.failed == 1);
  reloader.reload(false, "watch");
  CHECK(counts.failed == 1);  // the same file, touched

  file = good;
  CHECK(reloader.reload(false, "watch").outcome == admin::ReloadReport::Outcome::done);
  CHECK(counts.last_ok);
  CHECK(counts.ok == 1);
  reloader.reload(false, "watch");
  CHECK(counts.ok == 1);  // nothing to tell

  file = good + "shutdown: {grace: never}\n";
  reloader.reload(false, "watch");
  CHECK_FALSE(counts.last_ok);
  CHECK(counts.failed == 2);
}

TEST_CASE("a worker that stands still while a reload is applied is told of, and takes it with the next one") {
  const auto with = [](const std::string& address, const std::string& more) {
    return "listen: {address: '" + address + "', path: '/" + more +
           "'}\nworkers: 2\nmcpServers: {s: {url: 'http://127.0.0.1:1/mcp', disabled: true}}\n";
  };
  TwoWorkers workers(with("127.0.0.1:0", "a"));
  const bool draining = false;
  Reloader reloader(
      workers, draining, [&](const std::set<std::string>&) { return load(with("127.0.0.2:0", "b")); },
      "test.yaml");

  workers.stop_second();
  auto report = reloader.reload(false, "test");
  CHECK(report.outcome == admin::ReloadReport::Outcome::incomplete);
  CHECK(report.error.find("worker 1 did not take it") == 0);
  CHECK_FALSE(reloader.counts().last_ok);
  CHECK(reloader.counts().failed == 1);
  CHECK(reloader.counts().ok == 0);
  CHECK(workers.worker(0).config().listen.path == "/b");
  CHECK(workers.worker(1).config().listen.path == "/a");
  CHECK(workers.listener(1).address().find("127.0.0.1:") == 0);
  CHECK(reloader.reload(false, "test").outcome == admin::ReloadReport::Outcome::rejected);  // it still does

  workers.let_go();
  report = reloader.reload(false, "test");
  CHECK(report.outcome == admin::ReloadReport::Outcome::done);
  CHECK(reloader.counts().last_ok);
  CHECK(workers.worker(1).config().listen.path == "/b");
  CHECK(workers.listener(1).address() == workers.listener(0).address());
}

TEST_CASE("an operator's action on a server with a stalled worker has not happened") {
  const std::string file =
      "listen: {address: '127.0.0.1:0'}\nworkers: 2\nmcpServers: {s: {url: 'http://127.0.0.1:1/mcp'}}\n";
  TwoWorkers workers(file);
  const bool draining = false;
  Reloader reloader(
      workers, draining, [&](const std::set<std::string>&) { return load(file); }, "test.yaml");
  workers.stop_second();
  workers.use_placement({{"s", {1, nullptr}}});
  auto acted = reloader.act("s", admin::ServerAct::stop, false);
  CHECK(acted.outcome == admin::ServerActed::Outcome::unanswered);
  CHECK_FALSE(reloader.is_held("s"));
}

TEST_CASE("a watch waits for the text of an included file that may be half saved") {
  std::array<char, 32> name{"/tmp/lineward-blank-XXXXXX"};
  REQUIRE(mkdtemp(name.data()) != nullptr);
  const std::string folder = name.data(), main = folder + "/main.yaml", part = folder + "/part.yaml";
  const auto server = [](const std::string& called) {
    return "mcpServers: {" + called + ": {url: 'http://127.0.0.1:1/mcp'}}\n";
  };
  const auto write = [](const std::string& file, const std::string& text) { std::ofstream(file) << text; };
  const std::string head = "listen: {address: '127.0.0.1:0'}\nworkers: 2\ninclude: ['part.yaml']\n";
  const auto read = [&] { return config::load_file(main, {}); };
  write(part, server("theirs"));
  write(main, head + server("mine"));
  TwoWorkers workers(head + server("mine"));
  const bool draining = false;
  Reloader reloader(
      workers, draining, [&](const std::set<std::string>&) { return read(); }, main);
  reloader.reload(false, "test");
  const auto servers = [&]() -> const auto& {
    return workers.worker(0).config().servers;
  };
  REQUIRE(servers().size() == 2);

  write(part, "");
  reloader.reload(false, "watch");
  CHECK(servers().size() == 2);
  write(part, server("next"));  // the rest of it
  reloader.reload(false, "watch");
  REQUIRE(servers().size() == 2);
  CHECK(servers()[1].name == "next");

  write(part, "\n");
  reloader.reload(false, "watch");
  write(main, head + server("other"));
  reloader.reload(false, "watch");  // too early for the part
  CHECK(servers()[0].name == "mine");
  reloader.tell({[] {}, [&] { workers.worker(0).stop_loop(); }, {}, {}});
  workers.worker(0).loop().run();  // until it looks again
  REQUIRE(servers().size() == 1);
  CHECK(servers()[0].name == "other");
  std::filesystem::remove_all(folder);
}

TEST_CASE("a watch reads again for changes of included files alone") {
  Files files;
  files.write("main.yaml", kWatching + "include: ['*.yaml']\n" + server("mine"));
  files.write("part.yaml", server("theirs"));
  TwoWorkers workers(kWatching + server("mine"));
  const bool draining = false;
  Reloader reloader(workers, draining, files.reader(), files.path("main.yaml"));
  reloader.reload(false, "test");
  REQUIRE(workers.servers().size() == 2);
  workers.run_for(50ms);

  files.reads = 0;
  files.write("access.log", "GET /\n");
  files.write(".part.yaml", "");
  workers.run_for(500ms);
  CHECK(files.reads == 0);
  std::filesystem::permissions(files.path("part.yaml"), std::filesystem::perms::owner_all);
  workers.run_for(500ms);
  CHECK(files.reads == 0);  // its text is the same
  files.write("further.yaml", server("further"));
  workers.run_for(500ms);
  CHECK(files.reads == 1);
  CHECK(workers.servers().size() == 3);
}

TEST_CASE("a watch reports a setting that needs a restart once") {
  const std::string file = "listen: {address: '127.0.0.1:0'}\n" + server("s");
  TwoWorkers workers(file + "workers: 2\n");
  const bool draining = false;
  std::string count = "workers: 3\n";
  Reloader reloader(
      workers, draining, [&](const std::set<std::string>&) { return load(file + count); }, "test.yaml");
  const admin::ReloadCounts& counts = reloader.counts();
  reloader.reload(false, "watch");
  reloader.reload(false, "watch");
  CHECK(counts.ok == 1);
  reloader.reload(false, "test");
  CHECK(counts.ok == 2);  // only a watch is quiet
  count = "workers: 4\n";
  reloader.reload(false, "watch");
  CHECK(counts.ok == 3);
  count = "workers: 2\n";
  reloader.reload(false, "watch");
  CHECK(counts.ok == 3);
  count = "workers: 4\n";
  reloader.reload(false, "watch");
  CHECK(counts.ok == 4);
}

TEST_CASE("a change before a watch begins is noticed") {
  Files files;
  files.write("main.yaml", kWatching + "include: ['part.yaml']\n" + server("mine"));
  files.write("part.yaml", "");
  TwoWorkers workers(kWatching + server("mine"));
  const bool draining = false;
  int reports = 0;
  config::ReadAgain read = [&, reader = files.reader()](std::set<std::string> running) {
    config::LoadResult read = reader(std::move(running));
    // It changes behind the reader, before it is watched.
    if (files.reads == 1) files.write("part.yaml", server("theirs"));
    return read;
  };
  Reloader reloader(workers, draining, read, files.path("main.yaml"));
  reloader.tell({[&] { ++reports; }, [] {}, {}, {}});
  reloader.reload(false, "test");
  REQUIRE(workers.servers().size() == 1);
  workers.run_for(300ms);
  CHECK(workers.servers().size() == 2);
  CHECK(reports == 1);  // nothing about a look without a change
}

TEST_CASE("a reload is refused while an included file may be half saved") {
  Files files;
  files.write("main.yaml", kWatching + "include: ['part.yaml']\n" + server("mine"));
  files.write("part.yaml", server("theirs"));
  TwoWorkers workers(kWatching + server("mine"));
  const bool draining = false;
  Reloader reloader(workers, draining, files.reader(), files.path("main.yaml"));
  reloader.reload(false, "test");
  REQUIRE(workers.servers().size() == 2);

  files.write("part.yaml", "");
  CHECK(reloader.reload(true, "test").outcome == admin::ReloadReport::Outcome::done);
  for (int again = 0; again < 2; ++again) {
    const admin::ReloadReport report = reloader.reload(false, "test");
    CHECK(report.outcome == admin::ReloadReport::Outcome::refused);
    CHECK(report.error ==
          files.path("part.yaml") + " has no text and may be half saved: repeat this in two seconds");
  }
  CHECK(workers.servers().size() == 2);
  workers.run_for(2500ms);
  CHECK(workers.servers().size() == 1);  // it was emptied
  CHECK(reloader.reload(false, "test").outcome == admin::ReloadReport::Outcome::done);
}

TEST_CASE("a server that has moved to another file is not removed with the text of that file") {
  Files files;
  files.write("main.yaml", kWatching + "include: ['part*.yaml']\n" + server("mine"));
  files.write("part1.yaml", server("theirs"));
  TwoWorkers workers(kWatching + server("mine"));
  const bool draining = false;
  Reloader reloader(workers, draining, files.reader(), files.path("main.yaml"));
  reloader.reload(false, "test");
  REQUIRE(workers.servers().size() == 2);

  std::filesystem::rename(files.path("part1.yaml"), files.path("part2.yaml"));
  reloader.reload(false, "watch");
  files.write("part2.yaml", "");
  reloader.reload(false, "watch");
  CHECK(workers.servers().size() == 2);
}
