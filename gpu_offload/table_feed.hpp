// From one arena to its copies on all devices; and what next hops must wait for before they reuse a
// group that such a copy may still name. Control's thread only.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "gpu_offload/table_mirror.hpp"
#include "lookup/journal.hpp"
#include "lookup/memory.hpp"

namespace hecto::gpu_offload {

// Attach its journal to the arena's owner (Fib::attach), then add mirrors.
class TableFeed {
 public:
  TableFeed()
      : journal_([this](TableMirror::Update update) {
          for (TableMirror* mirror : mirrors_) mirror->push(update);
        }) {}
  TableFeed(const TableFeed&) = delete;
  TableFeed& operator=(const TableFeed&) = delete;

  lookup::Journal& journal() { return journal_; }
  // They must live as long as updates come.
  void add(TableMirror& mirror) { mirrors_.push_back(&mirror); }
  void remove(TableMirror& mirror) { std::erase(mirrors_, &mirror); }

  uint64_t awaited() const { return journal_.awaited(); }
  bool passed(uint64_t generation) const {
    for (const TableMirror* mirror : mirrors_) {
      if (!mirror->passed(generation)) return false;
    }
    return true;
  }

 private:
  lookup::Journal journal_;
  std::vector<TableMirror*> mirrors_;
};

// Readers on CPUs and on devices: for the next-hop table, whose groups workers find by jobs, too.
class DeviceReaders final : public lookup::Reclaimer {
 public:
  explicit DeviceReaders(lookup::Reclaimer& workers) : workers_(workers) {}
  void watch(const TableFeed& feed) { feeds_.push_back(&feed); }

  uint64_t start() noexcept override;
  bool passed(uint64_t token) noexcept override;

 private:
  struct Moment {
    uint64_t workers;                   // their token
    std::vector<uint64_t> generations;  // by feed
  };
  bool passed(const Moment& moment) noexcept;

  lookup::Reclaimer& workers_;
  std::vector<const TableFeed*> feeds_;
  std::deque<Moment> moments_;  // not passed when last asked after; numbered from first_
  uint64_t first_ = 0;
};

}  // namespace hecto::gpu_offload
