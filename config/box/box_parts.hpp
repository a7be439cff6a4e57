// What reading a box file and reading a topology share: a NIC by its model.
#pragma once

#include <string>

#include "config/box/box.hpp"
#include "config/box/nic_models.hpp"

namespace hecto::config {

// Wire, packets, the most of the card, and descriptors of the model.
void apply_model(const NicModel& model, BoxNic& nic);
// "n is a ConnectX-5, which comes with several rates: taken as ..."
std::string most_of_id(const NicModel& model, const BoxNic& nic);
// A note where the card passes less than its wires.
void note_card(const BoxNic& nic, Box& box);

}  // namespace hecto::config
