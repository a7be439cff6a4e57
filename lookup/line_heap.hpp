// Blocks of 1, 2, 4 .. 32 lines (64 bytes each) out of an arena that can grow: a buddy allocator.
//
// Its books lie outside the arena, so a block given back can be read by those who still look at it.
// Two free neighbors of one size always become one block: what is free stays usable, whatever the
// sequence of takes and returns. Writer only.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

namespace hecto::lookup {

class LineHeap {
 public:
  static constexpr unsigned kMaxOrder = 5;
  static constexpr uint32_t kMaxLines = 1u << kMaxOrder;

  // Adds lines [size(), lines) to those that can be taken; both are multiples of kMaxLines.
  void grow(uint32_t lines) {
    uint32_t line = size();
    books_.resize(lines);
    for (; line < lines; line += kMaxLines) put_free(line, kMaxOrder);
  }
  // Lines below `line` are never given out. Before the first grow() only.
  void start_at(uint32_t line) { books_.resize(line); }

  std::optional<uint32_t> take(uint32_t lines) {
    unsigned wanted = order_of(lines);
    unsigned order = wanted;
    while (order <= kMaxOrder && free_[order] == kNone) ++order;
    if (order > kMaxOrder) return std::nullopt;
    uint32_t line = free_[order];
    remove_free(line);
    while (order > wanted) {
      --order;
      put_free(line + (1u << order), order);
    }
    books_[line].order = static_cast<uint8_t>(wanted);
    used_ += 1u << wanted;
    return line;
  }

  void give_back(uint32_t line) {
    unsigned order = books_[line].order;
    used_ -= 1u << order;
    for (; order < kMaxOrder; ++order) {
      uint32_t buddy = line ^ 1u << order;
      if (!books_[buddy].is_free || books_[buddy].order != order) break;
      remove_free(buddy);
      line &= ~(1u << order);
    }
    put_free(line, order);
  }

  uint32_t size() const { return static_cast<uint32_t>(books_.size()); }
  uint32_t used() const { return used_; }

 private:
  static constexpr uint32_t kNone = ~uint32_t{0};
  struct Book {
    uint32_t next = kNone;
    uint32_t previous = kNone;
    uint8_t order = 0;  // of the block that begins here
    bool is_free = false;
  };

  static unsigned order_of(uint32_t lines) {
    return static_cast<unsigned>(std::bit_width(lines - 1));
  }
  void put_free(uint32_t line, unsigned order) {
    uint32_t next = free_[order];
    books_[line] = {next, kNone, static_cast<uint8_t>(order), true};
    if (next != kNone) books_[next].previous = line;
    free_[order] = line;
  }
  void remove_free(uint32_t line) {
    Book& book = books_[line];
    book.is_free = false;
    if (book.next != kNone) books_[book.next].previous = book.previous;
    if (book.previous != kNone) {
      books_[book.previous].next = book.next;
    } else {
      free_[book.order] = book.next;
    }
  }

  std::vector<Book> books_;  // by line
  std::array<uint32_t, kMaxOrder + 1> free_ = {kNone, kNone, kNone, kNone, kNone, kNone};
  uint32_t used_ = 0;
};

}  // namespace hecto::lookup
