#include "router/api/capacity_json.hpp"

#include <nlohmann/json.hpp>

namespace hecto::router {

using nlohmann::json;

json box_json(const config::Box& box) {
  json sockets = json::array();
  for (const config::BoxSocket& socket : box.sockets)
    sockets.push_back({{"id", socket.id},
                       {"package", socket.package},
                       {"cores", socket.cores},
                       {"threads", socket.threads},
                       {"ghz", socket.ghz}});
  json nics = json::array();
  for (const config::BoxNic& nic : box.nics) {
    json one = {{"name", nic.name},
                {"socket", box.sockets[nic.socket].id},
                {"ports", nic.pci.size()},
                {"gbps", nic.gbit_s}};
    if (nic.slot) one["slot"] = box.slots[*nic.slot].name;
    if (nic.slot) one["link"] = nic.link;
    nics.push_back(std::move(one));
  }
  json gpus = json::array();
  for (const config::BoxGpu& gpu : box.gpus)
    gpus.push_back({{"name", gpu.name},
                    {"slot", box.slots[gpu.slot].name},
                    {"link", box.slots[gpu.slot].link}});
  return {{"source", box.source},    {"name", box.name},
          {"cpu", box.cpu},          {"sockets", std::move(sockets)},
          {"nics", std::move(nics)}, {"gpus", std::move(gpus)},
          {"notes", box.notes}};
}

json capacity_json(const config::Box& box, const config::Setup& setup,
                   const config::Capacity& capacity) {
  json points = json::array();
  for (const config::Point& point : capacity.points) {
    const config::PacketSize& size = config::packet_sizes()[point.size];
    json headroom = json::object();
    for (size_t r = 0; r < capacity.resources.size(); ++r)
      headroom[capacity.resources[r].name] =
          point.headroom[r] > 0 ? json(point.headroom[r]) : json();
    json one = {{"experiment", to_string(point.experiment)},
                {"traffic", point.traffic ? json(to_string(*point.traffic)) : json()},
                {"size", size.name},
                {"frame_bytes", size.mean_bytes()},
                {"mpps", point.mpps},
                {"mpps_low", point.mpps_low},
                {"mpps_high", point.mpps_high},
                {"gbps", point.gbit_s},
                {"bottleneck", capacity.resources[point.bottleneck].name},
                {"headroom", std::move(headroom)},
                {"gpu", point.gpu}};
    if (point.line_mpps > 0) {
      one["line_mpps"] = point.line_mpps;
      one["cores_needed"] = point.cores_needed;
    }
    points.push_back(std::move(one));
  }
  return {{"worker_cores", setup.cores},
          {"points", std::move(points)},
          {"advice", config::advice(box, setup, capacity)}};
}

json constants_json(const config::Constants& constants) {
  json out = json::object();
  for (const config::ConstantInfo& row : config::constants_table())
    out[std::string(row.name)] = {
        {"value", constants[row.id]}, {"unit", row.unit}, {"source", constants.source(row.id)}};
  return out;
}

}  // namespace hecto::router
