#include "router/dataplane/ports/af_xdp.hpp"

#include <linux/if_xdp.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>

#include "router/dataplane/core/dpdk.hpp"

namespace hecto::router {
namespace {

constexpr uint32_t kMostDescriptors = 1u << 16;
constexpr uint32_t kFewestDescriptors = 64;
constexpr std::chrono::milliseconds kCompletionWait{100};
constexpr std::chrono::milliseconds kWorkItem{20};
// The upper 16 bits of an address are the data's offset in its buffer (unaligned chunk mode).
constexpr uint64_t kAddressMask = (uint64_t{1} << XSK_UNALIGNED_BUF_OFFSET_SHIFT) - 1;

bool is_af_xdp(int fd, uint64_t& inode) noexcept {
  int domain = 0;
  socklen_t bytes = sizeof domain;
  struct stat file {};
  if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &bytes) != 0 || domain != AF_XDP) return false;
  if (fstat(fd, &file) != 0) return false;
  inode = file.st_ino;
  return true;
}

bool still_open(const AfXdpSocket& socket) noexcept {
  uint64_t inode = 0;
  return is_af_xdp(socket.fd, inode) && inode == socket.inode;
}

// The kernel frees a closed socket after a grace period of RCU, and the interface's queue in a work
// item after that. Until then the next socket there is refused (EBUSY).
void let_go_of_queues() {
  constexpr int kGlobal = 1;  // MEMBARRIER_CMD_GLOBAL: waits for a grace period
  for (int i = 0; i < 2; ++i) syscall(SYS_membarrier, kGlobal, 0, 0);
  std::this_thread::sleep_for(kWorkItem);
}

// Null when the address is not that of an mbuf of the pool. Hugepages are a chunk each where DPDK
// works with physical addresses; the UMEM begins with the first.
rte_mbuf* mbuf_at(rte_mempool* pool, uint64_t address) noexcept {
  const rte_mempool_memhdr* memory = STAILQ_FIRST(&pool->mem_list);
  const auto first = reinterpret_cast<uintptr_t>(memory->addr);
  const uintptr_t base = first & ~(static_cast<uintptr_t>(getpagesize()) - 1);  // the UMEM's
  const uintptr_t at = base + (address & kAddressMask) + pool->header_size;
  STAILQ_FOREACH(memory, &pool->mem_list, next) {
    const auto begin = reinterpret_cast<uintptr_t>(memory->addr);
    if (at < begin || at + sizeof(rte_mbuf) > begin + memory->len) continue;
    auto* packet = reinterpret_cast<rte_mbuf*>(at);
    return packet->pool == pool ? packet : nullptr;
  }
  return nullptr;
}

}  // namespace

std::vector<AfXdpSocket> af_xdp_sockets() {
  std::vector<AfXdpSocket> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", error)) {
    const std::string name = entry.path().filename();
    AfXdpSocket socket;
    std::from_chars(name.data(), name.data() + name.size(), socket.fd);
    if (is_af_xdp(socket.fd, socket.inode)) found.push_back(socket);
  }
  return found;
}

uint32_t AfXdpSockets::Ring::produced() const noexcept {
  if (memory == nullptr) return 0;
  return __atomic_load_n(reinterpret_cast<uint32_t*>(memory + producer), __ATOMIC_ACQUIRE);
}

uint32_t AfXdpSockets::Ring::consumed() const noexcept {
  if (memory == nullptr) return 0;
  return __atomic_load_n(reinterpret_cast<uint32_t*>(memory + consumer), __ATOMIC_ACQUIRE);
}

AfXdpSockets::Rings AfXdpSockets::map(int fd) {
  Rings rings;
  xdp_mmap_offsets offsets{};
  socklen_t bytes = sizeof offsets;
  if (getsockopt(fd, SOL_XDP, XDP_MMAP_OFFSETS, &offsets, &bytes) != 0) return rings;
  // A socket does not tell its rings' sizes: the largest that maps is the one it has.
  const auto open = [fd](const xdp_ring_offset& where, uint64_t page, size_t descriptor_bytes) {
    Ring ring;
    for (uint32_t size = kMostDescriptors; size >= kFewestDescriptors; size /= 2) {
      ring.bytes = where.desc + size * descriptor_bytes;
      void* memory = mmap(nullptr, ring.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                          static_cast<off_t>(page));
      if (memory == MAP_FAILED) continue;
      ring.memory = static_cast<uint8_t*>(memory);
      ring.size = size;
      ring.producer = where.producer;
      ring.consumer = where.consumer;
      ring.descriptors = where.desc;
      break;
    }
    return ring;
  };
  rings.receive = open(offsets.rx, XDP_PGOFF_RX_RING, sizeof(xdp_desc));
  rings.transmit = open(offsets.tx, XDP_PGOFF_TX_RING, sizeof(xdp_desc));
  rings.fill = open(offsets.fr, XDP_UMEM_PGOFF_FILL_RING, sizeof(uint64_t));
  rings.completion = open(offsets.cr, XDP_UMEM_PGOFF_COMPLETION_RING, sizeof(uint64_t));
  return rings;
}

void AfXdpSockets::unmap(Rings& rings) {
  for (Ring* ring : {&rings.receive, &rings.transmit, &rings.fill, &rings.completion}) {
    if (ring->memory != nullptr) munmap(ring->memory, ring->bytes);
    ring->memory = nullptr;
  }
}

AfXdpSockets::AfXdpSockets(const std::vector<AfXdpSocket>& before) {
  for (const AfXdpSocket& socket : af_xdp_sockets()) {
    if (std::find(before.begin(), before.end(), socket) != before.end()) continue;
    sockets_.push_back(socket);
    rings_.push_back(map(socket.fd));
  }
}

AfXdpSockets::~AfXdpSockets() {
  for (Rings& rings : rings_) unmap(rings);
}

uint64_t AfXdpSockets::missed() const noexcept {
  uint64_t missed = 0;
  for (const AfXdpSocket& socket : sockets_) {
    xdp_statistics s{};
    socklen_t bytes = sizeof s;
    if (still_open(socket) && getsockopt(socket.fd, SOL_XDP, XDP_STATISTICS, &s, &bytes) == 0)
      missed += s.rx_dropped + s.rx_ring_full;
  }
  return missed;
}

// What lies between consumer and producer. A descriptor of either kind begins with the address.
void AfXdpSockets::collect(const Ring& ring, size_t descriptor_bytes) {
  const uint32_t first = ring.consumed();
  const uint32_t count = std::min(ring.produced() - first, ring.size);
  for (uint32_t i = 0; i < count; ++i) {
    uint64_t address = 0;
    const size_t index = (first + i) & (ring.size - 1);
    std::memcpy(&address, ring.memory + ring.descriptors + index * descriptor_bytes,
                sizeof address);
    addresses_.push_back(address);
  }
}

// The kernel tells what it has sent once the frame is taken at the other end.
void AfXdpSockets::wait_for_completions() const {
  const auto until = std::chrono::steady_clock::now() + kCompletionWait;
  const auto under_way = [](const Rings& r) {
    return r.transmit.consumed() != r.completion.produced();
  };
  while (std::any_of(rings_.begin(), rings_.end(), under_way) &&
         std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

uint32_t AfXdpSockets::release(rte_mempool* pool, bool reopens) {
  wait_for_completions();
  uint32_t lost = 0;
  for (Rings& rings : rings_) {
    lost += rings.transmit.consumed() - rings.completion.produced();
    collect(rings.completion, sizeof(uint64_t));
    collect(rings.transmit, sizeof(xdp_desc));
    // In this order: a frame that arrives yet moves a buffer from one to the other, and may get
    // lost but never be found twice.
    lost += rings.fill.consumed() - rings.receive.produced();
    collect(rings.receive, sizeof(xdp_desc));
    collect(rings.fill, sizeof(uint64_t));
    unmap(rings);
  }
  rings_.clear();
  // Closing waits until no frame is on its way into the socket. Only then are its buffers ours.
  for (const AfXdpSocket& socket : sockets_)
    if (still_open(socket)) close(socket.fd);
  if (!sockets_.empty() && reopens) let_go_of_queues();
  sockets_.clear();
  for (const uint64_t address : addresses_) {
    if (rte_mbuf* packet = mbuf_at(pool, address))
      rte_pktmbuf_free(packet);
    else
      ++lost;
  }
  addresses_.clear();
  return lost;
}

}  // namespace hecto::router
