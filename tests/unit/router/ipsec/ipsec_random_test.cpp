// Random changes against a model that looks at everything anew, and workers that read meanwhile.
#include <atomic>
#include <random>
#include <thread>

#include "tests/beds/seed.hpp"
#include "tests/unit/router/ipsec/ipsec_bed.hpp"

namespace hecto::router::test {
namespace {

struct NaiveSa {
  SaState state;
  uint64_t age;
};

// The newest SA that the policy asks for; null: none.
const NaiveSa* naive_choice(const std::vector<NaiveSa>& sas, const IpsecPolicy& policy) {
  const PolicyTemplate& wanted = *policy.protection;
  const NaiveSa* best = nullptr;
  for (const NaiveSa& sa : sas) {
    const bool fits = sa.state.source == wanted.source &&
                      sa.state.id.destination == wanted.destination &&
                      sa.state.mode == wanted.mode && sa.state.if_id == policy.if_id &&
                      (wanted.reqid == 0 || sa.state.reqid == wanted.reqid) &&
                      (wanted.spi == 0 || sa.state.id.spi == wanted.spi);
    if (fits && (best == nullptr || sa.age > best->age)) best = &sa;
  }
  return best;
}

class IpsecRandom : public IpsecBed {
 protected:
  SaState random_sa() {
    SaState state = sa_state(Spi(1 + random() % 12), random() % 3);
    if (random() % 3 == 0) state.id.destination = ip("198.51.100.2");
    if (random() % 4 == 0) state.mode = IpsecMode::kTransport;
    state.if_id = random() % 2;
    state.keys.cipher[0] = static_cast<uint8_t>(++keys_);
    return state;
  }
  IpsecPolicy random_policy() {
    const std::string number = std::to_string(random() % 10);
    IpsecPolicy policy = out_policy("10." + number + ".0.0/16", "10.2.0.0/16", random() % 3,
                                    static_cast<uint32_t>(random() % 3));
    if (random() % 3 == 0) policy.protection->destination = ip("198.51.100.2");
    if (random() % 4 == 0) policy.protection->mode = IpsecMode::kTransport;
    if (random() % 4 == 0) policy.protection->spi = Spi(random() % 13);
    policy.if_id = random() % 2;
    return policy;
  }

  std::mt19937_64 random{test_seed()};
  uint8_t keys_ = 0;
};

TEST_F(IpsecRandom, PoliciesAlwaysHaveTheSaThatAModelChooses) {
  SCOPED_TRACE(testing::Message() << "seed " << test_seed());
  std::vector<NaiveSa> sas;
  std::vector<IpsecPolicy> policies;
  size_t served = 0;
  for (uint64_t step = 0; step < 20'000; ++step) {
    const SaState state = random_sa();
    const IpsecPolicy policy = random_policy();
    auto same_id = [&](const NaiveSa& sa) { return sa.state.id == state.id; };
    auto same_key = [&](const IpsecPolicy& other) {
      return other.selector == policy.selector && other.if_id == policy.if_id;
    };
    switch (random() % 4) {
      case 0:
        std::erase_if(sas, same_id);
        sas.push_back({state, step});
        ipsec->sa(state);
        break;
      case 1:
        std::erase_if(sas, same_id);
        ipsec->sa_removed(state.id);
        break;
      case 2:
        std::erase_if(policies, same_key);
        policies.push_back(policy);
        ipsec->policy(policy);
        break;
      default:
        std::erase_if(policies, same_key);
        ipsec->policy_removed(policy);
    }
    if (random() % 3 != 0) continue;
    readers.quiescent();
    ipsec->commit();
    size_t without = 0;
    for (const IpsecPolicy& one : policies) without += naive_choice(sas, one) == nullptr;
    ASSERT_EQ(ipsec->statistics().policies_without_sa, without) << "step " << step;
    for (const IpsecPolicy& one : policies) {
      const std::string inside = IpAddress(one.selector.source.address).to_string();
      const esp::Policy* found = out(inside, "10.2.0.1", one.if_id);
      ASSERT_NE(found, nullptr);
      const NaiveSa* right = naive_choice(sas, one);
      const esp::Sa* chosen = found->sa.load();
      ASSERT_EQ(chosen != nullptr, right != nullptr) << "step " << step;
      if (right == nullptr) continue;
      ASSERT_EQ(chosen->id, right->state.id) << "step " << step;
      ++served;
    }
  }
  EXPECT_GT(served, 1000u);
}

// A worker that looks up, follows the policy to its SA and uses it: nothing is freed under it, and
// packets of a policy with an SA always find one.
TEST_F(IpsecRandom, WorkersUseWhatIsRekeyedUnderThem) {
  ipsec->sa(sa_state(1));
  ipsec->policy(out_policy("10.1.0.0/16", "10.2.0.0/16"));
  ipsec->commit();
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> without{0}, used{0};
  const esp::IpsecView view = ipsec->view();
  std::thread worker([&] {
    const esp::FlowKey key = flow("10.1.0.1", "10.2.0.1");
    while (!stop.load()) {
      const esp::Policy* policy = view.out->find(key, 0);
      esp::Sa* sa = policy == nullptr ? nullptr : policy->sa.load(std::memory_order_acquire);
      if (sa == nullptr) {
        without.fetch_add(1);
      } else {
        sa->sequence.fetch_add(1, std::memory_order_relaxed);
        sa->bytes.fetch_add(sa->transform.key_bytes, std::memory_order_relaxed);
        used.fetch_add(1);
      }
      readers.quiescent();
    }
  });
  for (uint32_t i = 2; i < 2000 || used.load() < 1000; ++i) {
    ipsec->sa(sa_state(Spi(i)));
    ipsec->sa_removed({ip(kThere), Spi(i - 1)});
    if (i % 7 == 0)
      ipsec->policy(out_policy("10.1.0.0/16", "10.2.0.0/16", 1, i));  // replaced: another priority
    ipsec->commit();
  }
  stop.store(true);
  worker.join();
  EXPECT_EQ(without.load(), 0u);
}

}  // namespace
}  // namespace hecto::router::test
