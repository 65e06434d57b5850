// The order of segments. Strongly connected parts (loops) stand together, their
// entries first, then what is inside without the entry by the same rule; what
// follows a loop comes after all of it. Where work-items take different ways,
// always running the first segment then brings them together again where the
// ways meet.

#include "program.h"

#include <algorithm>

using namespace poot;
using namespace poot::interp;

namespace {
/// Tarjan's algorithm over the nodes whose group is GROUP, from ROOT; parts in
/// reverse topological order.
class Components {
public:
  Components(const std::vector<std::vector<uint32_t>> &successors)
      : successors_(successors), group_(successors.size(), 0),
        index_(successors.size()), low_(successors.size()),
        onStack_(successors.size()) {}

  std::vector<std::vector<uint32_t>> find(const std::vector<uint32_t> &roots,
                                          uint32_t group) {
    std::vector<std::vector<uint32_t>> parts;
    for (uint32_t root : roots)
      if (!index_[root])
        visit(root, group, parts);
    return parts;
  }
  void regroup(const std::vector<uint32_t> &nodes, uint32_t group) {
    for (uint32_t node : nodes) {
      group_[node] = group;
      index_[node] = 0;
    }
  }

private:
  void visit(uint32_t root, uint32_t group,
             std::vector<std::vector<uint32_t>> &parts) {
    struct Step {
      uint32_t node, next;
    };
    std::vector<Step> steps = {{root, 0}};
    enter(root);
    while (!steps.empty()) {
      Step &step = steps.back();
      uint32_t node = step.node;
      if (step.next != successors_[node].size()) {
        uint32_t to = successors_[node][step.next++];
        if (group_[to] != group)
          continue;
        if (!index_[to]) {
          enter(to);
          steps.push_back({to, 0});
        } else if (onStack_[to]) {
          low_[node] = std::min(low_[node], index_[to]);
        }
        continue;
      }
      steps.pop_back();
      if (!steps.empty())
        low_[steps.back().node] = std::min(low_[steps.back().node], low_[node]);
      if (low_[node] != index_[node])
        continue;
      std::vector<uint32_t> part;
      uint32_t last;
      do {
        last = stack_.back();
        stack_.pop_back();
        onStack_[last] = false;
        part.push_back(last);
      } while (last != node);
      // The node first reached is the entry.
      std::reverse(part.begin(), part.end());
      parts.push_back(std::move(part));
    }
  }
  void enter(uint32_t node) {
    index_[node] = low_[node] = ++counter_;
    stack_.push_back(node);
    onStack_[node] = true;
  }

  const std::vector<std::vector<uint32_t>> &successors_;
  std::vector<uint32_t> group_, index_, low_, stack_;
  std::vector<bool> onStack_;
  uint32_t counter_ = 0;
};
} // namespace

std::vector<uint32_t> poot::interp::scheduleOrder(
    const std::vector<std::vector<uint32_t>> &successors) {
  // Work that is left, last first: a part to print, or a loop to take apart.
  struct Task {
    std::vector<uint32_t> part;
    uint32_t depth;
  };
  // Deeper than any kernel: what remains then stands in any order, which only
  // costs time.
  constexpr uint32_t kDeepest = 200;
  Components components(successors);
  std::vector<uint32_t> order;
  std::vector<Task> tasks;
  uint32_t group = 0;
  auto push = [&](std::vector<std::vector<uint32_t>> parts, uint32_t depth) {
    // Parts come last first, as the tasks want them.
    for (std::vector<uint32_t> &part : parts)
      tasks.push_back({std::move(part), depth});
  };
  push(components.find({0}, 0), 0);
  while (!tasks.empty()) {
    Task task = std::move(tasks.back());
    tasks.pop_back();
    if (task.part.size() == 1 || task.depth == kDeepest) {
      order.insert(order.end(), task.part.begin(), task.part.end());
      continue;
    }
    order.push_back(task.part.front());
    std::vector<uint32_t> rest(task.part.begin() + 1, task.part.end());
    components.regroup(rest, ++group);
    components.regroup({task.part.front()}, UINT32_MAX);
    // From the entry's successors, in their order reversed: the last root found
    // comes first.
    std::vector<uint32_t> roots;
    for (uint32_t to : successors[task.part.front()])
      if (std::find(rest.begin(), rest.end(), to) != rest.end())
        roots.push_back(to);
    std::reverse(roots.begin(), roots.end());
    push(components.find(roots, group), task.depth + 1);
  }
  return order;
}
