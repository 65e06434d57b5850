//===- host.cpp - Runs kernels on the CPU ---------------------------------===//
//
// One scheduler a launch. It runs each work-item until it waits or ends, then
// decides who may go on: the lanes of a subgroup that wait at an operation once
// none of it runs any more, the workgroup once all of it wait at one barrier.
//
//===----------------------------------------------------------------------===//

#include "poot/host.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <ucontext.h>
#include <vector>

namespace poot::host {
namespace {

enum class State : uint8_t { Ready, AtBarrier, AtSubgroup, Done };

struct Fibre {
  ucontext_t machine;
  std::unique_ptr<char[]> stack;
  context_t context;
  State state = State::Ready;
  // Where it waits.
  const char *file = nullptr;
  int line = 0;
  unsigned char value[16];
  size_t bytes = 0;
  subgroup_values values;
  size_t arrays = 0; // declared so far
};

struct Array {
  std::unique_ptr<unsigned char[]> memory;
  size_t bytes = 0;
};

class Scheduler {
public:
  Scheduler(extent3 grid, extent3 size, const std::function<void()> &body,
            const options &options)
      : grid_(grid), size_(size), body_(body), options_(options) {}

  result run();

  Fibre &current() { return fibres_[current_]; }
  void wait(State state) {
    current().state = state;
    switchOut();
  }
  [[noreturn]] void fail(const std::string &error) {
    error_ = error;
    switchOut();
    __builtin_unreachable(); // a failed launch resumes nobody
  }
  void *array(size_t bytes, size_t alignment);

private:
  static void start();
  void switchOut() {
    Fibre &fibre = current();
    swapcontext(&fibre.machine, &main_);
  }
  void runWorkgroup(uint32_t x, uint32_t y, uint32_t z);
  bool releaseSubgroups();
  bool releaseBarrier();

  extent3 grid_, size_;
  const std::function<void()> &body_;
  options options_;
  std::vector<Fibre> fibres_;
  size_t current_ = 0;
  ucontext_t main_;
  std::vector<Array> arrays_;
  std::string error_;
};

thread_local Scheduler *scheduler = nullptr;

std::string describe(const context_t &c) {
  auto triple = [](const uint32_t (&v)[3]) {
    return "(" + std::to_string(v[0]) + ", " + std::to_string(v[1]) + ", " +
           std::to_string(v[2]) + ")";
  };
  return "work-item " + triple(c.local_id) + " of workgroup " +
         triple(c.workgroup_id);
}

void Scheduler::start() {
  Scheduler &self = *scheduler;
  self.body_();
  self.wait(State::Done);
}

void *Scheduler::array(size_t bytes, size_t alignment) {
  size_t number = current().arrays++;
  if (number == arrays_.size()) {
    Array array;
    array.memory.reset(new (std::align_val_t(64)) unsigned char[bytes]);
    array.bytes = bytes;
    std::memset(array.memory.get(), 0xCD, bytes);
    arrays_.push_back(std::move(array));
  }
  if (arrays_[number].bytes != bytes || alignment > 64)
    fail("work-items of a workgroup declare different workgroup arrays");
  return arrays_[number].memory.get();
}

bool Scheduler::releaseSubgroups() {
  bool released = false;
  for (size_t first = 0; first < fibres_.size();
       first += options_.subgroup_size) {
    size_t end = std::min(first + options_.subgroup_size, fibres_.size());
    subgroup_values values;
    values.size_ = static_cast<uint32_t>(end - first);
    for (size_t i = first; i < end; ++i) {
      Fibre &fibre = fibres_[i];
      if (fibre.state != State::AtSubgroup)
        continue;
      if (values.bytes_ != 0 && values.bytes_ != fibre.bytes) {
        error_ = "lanes of a subgroup are at different operations: " +
                 describe(fibre.context);
        return false;
      }
      values.bytes_ = fibre.bytes;
      values.present_[i - first] = true;
      std::memcpy(values.values_[i - first], fibre.value, fibre.bytes);
    }
    for (size_t i = first; i < end; ++i)
      if (fibres_[i].state == State::AtSubgroup) {
        fibres_[i].values = values;
        fibres_[i].state = State::Ready;
        released = true;
      }
  }
  return released;
}

bool Scheduler::releaseBarrier() {
  const Fibre *waits = nullptr, *ended = nullptr;
  for (const Fibre &fibre : fibres_) {
    if (fibre.state == State::Done) {
      ended = &fibre;
      continue;
    }
    if (waits && (waits->line != fibre.line ||
                  std::strcmp(waits->file, fibre.file) != 0)) {
      error_ = "divergent barrier: " + describe(waits->context) + " waits at " +
               waits->file + ":" + std::to_string(waits->line) + ", " +
               describe(fibre.context) + " at " + fibre.file + ":" +
               std::to_string(fibre.line);
      return false;
    }
    if (!waits)
      waits = &fibre;
  }
  if (!waits)
    return false;
  if (ended) {
    error_ = "divergent barrier: " + describe(waits->context) + " waits at " +
             waits->file + ":" + std::to_string(waits->line) + ", but " +
             describe(ended->context) + " has ended";
    return false;
  }
  for (Fibre &fibre : fibres_)
    fibre.state = State::Ready;
  return true;
}

void Scheduler::runWorkgroup(uint32_t x, uint32_t y, uint32_t z) {
  arrays_.clear();
  for (size_t i = 0; i < fibres_.size(); ++i) {
    Fibre &fibre = fibres_[i];
    context_t c;
    c.local_id[0] = static_cast<uint32_t>(i % size_.x);
    c.local_id[1] = static_cast<uint32_t>(i / size_.x % size_.y);
    c.local_id[2] = static_cast<uint32_t>(i / size_.x / size_.y);
    c.workgroup_id[0] = x;
    c.workgroup_id[1] = y;
    c.workgroup_id[2] = z;
    c.num_workgroups[0] = grid_.x;
    c.num_workgroups[1] = grid_.y;
    c.num_workgroups[2] = grid_.z;
    c.workgroup_size[0] = size_.x;
    c.workgroup_size[1] = size_.y;
    c.workgroup_size[2] = size_.z;
    c.subgroup_size = options_.subgroup_size;
    c.lane = static_cast<uint32_t>(i % options_.subgroup_size);
    c.subgroup = static_cast<uint32_t>(i / options_.subgroup_size);
    fibre.context = c;
    fibre.state = State::Ready;
    fibre.arrays = 0;
    getcontext(&fibre.machine);
    fibre.machine.uc_stack.ss_sp = fibre.stack.get();
    fibre.machine.uc_stack.ss_size = options_.stack_bytes;
    fibre.machine.uc_link = &main_;
    makecontext(&fibre.machine, &Scheduler::start, 0);
  }
  while (true) {
    for (current_ = 0; current_ < fibres_.size(); ++current_) {
      if (current().state != State::Ready)
        continue;
      swapcontext(&main_, &current().machine);
      if (!error_.empty())
        return;
    }
    if (!releaseSubgroups() && error_.empty() && !releaseBarrier())
      return;
    if (!error_.empty())
      return;
  }
}

result Scheduler::run() {
  fibres_.resize(size_t(size_.x) * size_.y * size_.z);
  for (Fibre &fibre : fibres_)
    fibre.stack.reset(new char[options_.stack_bytes]);
  for (uint32_t z = 0; z < grid_.z && error_.empty(); ++z)
    for (uint32_t y = 0; y < grid_.y && error_.empty(); ++y)
      for (uint32_t x = 0; x < grid_.x && error_.empty(); ++x)
        runWorkgroup(x, y, z);
  return {error_};
}

} // namespace

context_t &context() {
  static thread_local context_t outside;
  return scheduler ? scheduler->current().context : outside;
}

void barrier(const char *file, int line) {
  if (!scheduler)
    return; // a workgroup of one
  scheduler->current().file = file;
  scheduler->current().line = line;
  scheduler->wait(State::AtBarrier);
}

void *workgroup_array(size_t bytes, size_t alignment) {
  static thread_local std::unique_ptr<unsigned char[]> outside;
  if (scheduler)
    return scheduler->array(bytes, alignment);
  outside.reset(new unsigned char[bytes]);
  return outside.get();
}

int64_t check_index(int64_t index, int64_t count, const char *what) {
  if (index >= 0 && index < count)
    return index;
  std::string error = "index " + std::to_string(index) + " of a " + what +
                      " of " + std::to_string(count) + " elements";
  if (scheduler)
    scheduler->fail(error + ": " + describe(scheduler->current().context));
  std::fprintf(stderr, "%s, outside poot::host::launch\n", error.c_str());
  std::abort();
}

bool subgroup_values::get(uint32_t lane, void *value) const {
  if (lane >= size_ || !present_[lane])
    return false;
  std::memcpy(value, values_[lane], bytes_);
  return true;
}

subgroup_values subgroup_gather(const void *value, size_t bytes) {
  subgroup_values alone;
  if (bytes > sizeof(alone.values_[0])) // no such operand compiles
    std::abort();
  if (!scheduler) {
    alone.size_ = 1;
    alone.bytes_ = bytes;
    alone.present_[0] = true;
    std::memcpy(alone.values_[0], value, bytes);
    return alone;
  }
  Fibre &fibre = scheduler->current();
  std::memcpy(fibre.value, value, bytes);
  fibre.bytes = bytes;
  scheduler->wait(State::AtSubgroup);
  return fibre.values;
}

result launch(extent3 grid, extent3 workgroup_size,
              const std::function<void()> &body, options options) {
  uint64_t items = uint64_t(workgroup_size.x) * workgroup_size.y;
  if (items > 0 && items <= 1024)
    items *= workgroup_size.z;
  if (items == 0 || items > 1024)
    return {"a workgroup has 1 to 1024 work-items"};
  if (options.subgroup_size == 0 ||
      options.subgroup_size > subgroup_values::max_lanes)
    return {"a subgroup has 1 to 128 lanes"};
  if (scheduler)
    return {"a kernel can't launch another one"};
  Scheduler self(grid, workgroup_size, body, options);
  scheduler = &self;
  result outcome = self.run();
  scheduler = nullptr;
  return outcome;
}

} // namespace poot::host

//===----------------------------------------------------------------------===//
// Conversions to bf16
//===----------------------------------------------------------------------===//

// Clang calls these; the libgcc of Debian 12 lacks them. One that has them
// wins.

static __bf16 toBf16(uint32_t bits) {
  uint16_t half;
  if ((bits & 0x7fffffff) > 0x7f800000)
    half = static_cast<uint16_t>(bits >> 16 | 0x40); // NaN stays NaN
  else
    half = static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  __bf16 result;
  std::memcpy(&result, &half, sizeof(result));
  return result;
}

extern "C" __attribute__((weak)) __bf16 __truncsfbf2(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return toBf16(bits);
}

/// Rounds to f32 so that the second rounding sees what the first one lost.
extern "C" __attribute__((weak)) __bf16 __truncdfbf2(double value) {
  float nearest = static_cast<float>(value);
  uint32_t bits;
  std::memcpy(&bits, &nearest, sizeof(bits));
  // To odd: a number that wasn't exact keeps a one in its last place.
  if (static_cast<double>(nearest) != value && value == value) {
    bool isAbove = (static_cast<double>(nearest) > value) == (value > 0);
    if (isAbove)
      --bits;
    bits |= 1;
  }
  return toBf16(bits);
}
