// What a publish() changed in an arena, for those who keep a copy of its bytes elsewhere (a GPU).
//
// The writer's arena notes every word it writes; a publish() turns them into one update, each word
// once, with the value that it has then. Whoever applies all updates in order has the arena's bytes
// of that generation. An arena that grew, or changed in more than a quarter of its words, gives its
// whole image. An arena without a journal pays one test of a pointer for a store.
//
// Writer's thread only; updates are immutable and may be shared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <memory_resource>
#include <vector>

namespace hecto::lookup {

struct WordChange {
  uint32_t word;  // offset in the arena
  uint32_t value;
};
static_assert(sizeof(WordChange) == 8);

struct TableUpdate {
  TableUpdate() = default;
  explicit TableUpdate(std::pmr::memory_resource* memory) : image(memory), changes(memory) {}

  uint64_t generation = 0;
  size_t words = 0;                      // of the arena
  std::pmr::vector<uint32_t> image;      // all of it, or empty:
  std::pmr::vector<WordChange> changes;  // since the update before, no word twice
};

class Journal {
 public:
  using Sink = std::function<void(std::shared_ptr<const TableUpdate>)>;

  // `sink` takes each update.
  explicit Journal(Sink sink) : sink_(std::move(sink)) {}

  // The arena's side. The first publish() gives the whole image. `visible`: readers see it at once,
  // so the arena's next publish() will be one.
  void note(size_t word, size_t words, bool visible);
  void resized(size_t words);
  void publish(const uint32_t* arena, uint64_t generation);

  // The whole image as it is now, for a copy that begins; the words noted so far stay noted.
  static std::shared_ptr<const TableUpdate> image_of(const uint32_t* arena, size_t words,
                                                     uint64_t generation);
  // The generation that will hold all that readers of the arena see now.
  uint64_t awaited() const { return generation_ + visible_; }

 private:
  void forget();

  Sink sink_;
  size_t words_ = 0;
  uint64_t generation_ = 0;         // published last
  bool visible_ = false;            // something since then
  bool whole_ = true;               // the next update is an image
  std::vector<uint32_t> noted_;     // words, each once
  std::vector<uint64_t> is_noted_;  // a bit a word
};

}  // namespace hecto::lookup
