// What reading a box file and reading a topology share: a NIC by its model.
#pragma once

#include <string>

#include "config/box/box.hpp"
#include "config/box/nic_models.hpp"

namespace hecto::config {

// Wire, packets and descriptors of the model.
void apply_model(const NicModel& model, BoxNic& nic);
// "n is a ConnectX-5, which comes with several rates: taken as ..."
std::string most_of_id(const NicModel& model, const BoxNic& nic);

}  // namespace hecto::config
