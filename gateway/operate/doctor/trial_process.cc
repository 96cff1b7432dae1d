#include "operate/doctor/trial_process.h"

#include <sys/wait.h>

#include <cerrno>
#include <utility>

#include "foundation/process/spawner.h"

namespace lineward::doctor {

using std::chrono::milliseconds;

TrialProcess::~TrialProcess() {
  process_.reset();
  spawner_.reset();  // its process kills all descendants, then exits
  while (spawner_pid_ != 0 && waitpid(spawner_pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

bool TrialProcess::start(Clock::time_point until) {
  if (auto socket = process::fork_spawner(&spawner_pid_)) {
    if (auto made = process::Spawner::create(loop_, *socket, {})) spawner_ = std::move(*made);
  }
  if (spawner_) {
    process_ = std::make_unique<upstream::StdioProcess>(loop_, *spawner_, server_, *this);
    process_->start();
    while (!started_ && !end_ && wait(until)) {
    }
  }
  if (!started_ && !end_) {
    const int error = spawner_ ? ETIMEDOUT : EAGAIN;
    end_ = upstream::describe_failure({.text = {}, .code = error, .place = "spawner"}, server_);
  }
  return started_;
}

// Runs the loop until the next event, or a little less; false when the time is over.
bool TrialProcess::wait(Clock::time_point until) {
  const auto left = std::chrono::ceil<milliseconds>(until - Clock::now());
  if (left.count() <= 0) return false;
  timer_.start(left, [this] { loop_.stop(); });
  loop_.run();
  return true;
}

TrialProcess::Next TrialProcess::next(std::string& line, Clock::time_point until) {
  while (lines_.empty() && !end_) {
    if (!wait(until)) return Next::late;
  }
  if (lines_.empty()) return Next::exited;
  line = std::move(lines_.front());
  lines_.pop_front();
  return Next::line;
}

milliseconds TrialProcess::stop() {
  // On the loop: outside of run() its time stands still.
  timer_.start(milliseconds(0), [this] {
    process_->stop({mcp::EndReason::cancelled_drain, "was stopped", {}});
  });
  while (!exited_)
    loop_.run();
  return loop_.now() - down_at_;
}

void TrialProcess::on_process_started() {
  started_ = true;
  loop_.stop();
}

void TrialProcess::on_process_line(lineward::json::Text line) {
  lines_.push_back(std::move(line.bytes));
  loop_.stop();
}

void TrialProcess::on_process_down(const upstream::ProcessEnd& end) {
  end_ = end;
  down_at_ = loop_.now();
  loop_.stop();
}

void TrialProcess::on_process_gone() {
  exited_ = true;
  loop_.stop();
}

}  // namespace lineward::doctor
