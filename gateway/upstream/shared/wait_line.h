// The groups of callers of one server that may want something: a session, a process, a place for a call. A
// call puts its group in line and whoever gives out places asks only those, so that thousands of idle groups
// cost a call nothing. Each group stands in it once, in the order in which they came; it must leave before it
// is freed.
#pragma once

#include <algorithm>
#include <vector>

namespace lineward::upstream {

// Group has a member `bool in_line`, which belongs to the line.
template <class Group>
class WaitLine {
 public:
  void add(Group& group) {
    if (group.in_line) return;
    group.in_line = true;
    groups_.push_back(&group);
  }
  void remove(Group& group) {
    if (!group.in_line) return;
    group.in_line = false;
    groups_.erase(std::find(groups_.begin(), groups_.end(), &group));
  }
  static bool contains(const Group& group) { return group.in_line; }
  // Who wants nothing any more leaves.
  template <class Wants>
  void keep_if(Wants&& wants) {
    std::erase_if(groups_, [&](Group* group) {
      group->in_line = wants(*group);
      return !group->in_line;
    });
  }
  size_t size() const { return groups_.size(); }
  auto begin() const { return groups_.begin(); }
  auto end() const { return groups_.end(); }

 private:
  std::vector<Group*> groups_;
};

}  // namespace lineward::upstream
