// The caller groups of one server with possible work: a session, a process or a place is needed. A call adds
// its group, and only these groups are visited, so that thousands of idle groups cost nothing. Each group is
// in it once, in order of arrival; it must be removed before it is freed.
#pragma once

#include <algorithm>
#include <vector>

namespace lineward::upstream {

// Group has a member `bool in_line`, which belongs to the line.
template <class Group>
class ReadyQueue {
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
  // Removes groups without work.
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
