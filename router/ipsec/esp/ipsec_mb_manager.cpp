#include "router/ipsec/esp/ipsec_mb_manager.hpp"

#include "base/secret_memory.hpp"

namespace hecto::router::esp {
namespace {

void init_best(IMB_MGR* manager) {
  IMB_ARCH arch = IMB_ARCH_NONE;
  init_mb_mgr_auto(manager, &arch);
}

Manager make_manager(void (*init)(IMB_MGR*)) {
  void* memory = allocate_secret(imb_get_mb_mgr_size());
  if (memory == nullptr) return nullptr;
  Manager manager(imb_set_pointers_mb_mgr(memory, 0, 1));
  if (manager != nullptr) init(manager.get());
  if (manager == nullptr || imb_get_errno(manager.get()) != 0) return nullptr;
  if (manager->used_arch <= IMB_ARCH_NOAESNI) return nullptr;  // its emulation of AES-NI
  return manager;
}

}  // namespace

void ManagerDeleter::operator()(IMB_MGR* manager) const noexcept {
  release_secret(manager, imb_get_mb_mgr_size());
}

Manager make_best_manager() {
  return make_manager(init_best);
}

Manager make_sse_manager() {
  return make_manager(init_mb_mgr_sse);
}

const IMB_MGR* mb_functions() {
  static const IMB_MGR* manager = make_best_manager().release();
  return manager;
}

bool sse_for_sha256(const IMB_MGR& manager) noexcept {
  return manager.used_arch == IMB_ARCH_AVX2 && (manager.features & IMB_FEATURE_SHANI) != 0;
}

}  // namespace hecto::router::esp
