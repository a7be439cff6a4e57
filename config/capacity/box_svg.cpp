// The picture of a box: memory above sockets above hubs above cards, a column for each socket.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "config/capacity/capacity.hpp"

namespace hecto::config {
namespace {

constexpr double kCard = 140, kGap = 12, kMargin = 24, kLeastColumn = 320;
constexpr double kMemoryY = 92, kMemoryHigh = 44;
constexpr double kSocketY = 178, kSocketHigh = 64;
constexpr double kHubY = 296, kHubHigh = 40;
constexpr double kCardHigh = 66;

std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out;
}

std::string fill(double load) {
  return fmt::format("hsl({:.0f},70%,78%)", 120 * (1 - std::min(load, 1.0)));
}
std::string stroke(double load) {
  return fmt::format("hsl({:.0f},75%,42%)", 120 * (1 - std::min(load, 1.0)));
}
std::string percent(double load) {
  return fmt::format("{:.0f}%", 100 * load);
}

class Picture {
 public:
  Picture(const Box& box, const Setup& setup, const Capacity& capacity, const Point& point)
      : box_(box), setup_(setup), capacity_(capacity), point_(point) {}

  std::string run() {
    place_columns();
    card_y_ = box_.hubs.empty() ? kHubY : kHubY + kHubHigh + 60;
    const double height = card_y_ + kCardHigh + 90;
    title();
    for (size_t s = 0; s < box_.sockets.size(); ++s) socket(s);
    for (size_t h = 0; h < box_.hubs.size(); ++h) hub(h);
    cards();
    legend(height - 26);
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
        "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"sans-serif\" font-size=\"13\">\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{2}</svg>\n",
        width_, height, out_);
  }

 private:
  struct Column {
    double x = 0, wide = 0;
    double middle() const { return x + wide / 2; }
  };

  // The highest load among the resources of a kind at a place; below 0 when none is used.
  double load(ResourceKind kind, size_t place) const {
    double most = -1;
    for (size_t r = 0; r < capacity_.resources.size(); ++r) {
      const Resource& resource = capacity_.resources[r];
      const bool here =
          resource.place == place || (kind == ResourceKind::kHub && resource.place == kAll);
      if (resource.kind == kind && here && point_.headroom[r] > 0)
        most = std::max(most, 1 / point_.headroom[r]);
    }
    return most;
  }

  void place_columns() {
    std::vector<size_t> cards(box_.sockets.size(), 0);
    for (const BoxSlot& slot : box_.slots) ++cards[slot.socket];
    for (const BoxNic& nic : box_.nics)
      if (!nic.slot) ++cards[nic.socket];
    double x = kMargin;
    for (size_t count : cards) {
      const double wide =
          std::max(kLeastColumn, static_cast<double>(count) * (kCard + kGap) - kGap);
      columns_.push_back({x, wide});
      x += wide + 5 * kGap;
    }
    width_ = std::max(x - 5 * kGap + kMargin, 560.0);
  }

  void text(double x, double y, std::string_view words, std::string_view more = "") {
    out_ += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"middle\" {}>{}</text>\n", x,
                        y, more, escaped(words));
  }

  // A rectangle with a line of words and one of load; grey and dashed when nothing uses it.
  void part(double x, double y, double wide, double high, double load, std::string_view words,
            std::string_view second) {
    const bool used = load >= 0;
    out_ += fmt::format(
        "<rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"{:.0f}\" height=\"{:.0f}\" rx=\"5\" fill=\"{}\" "
        "stroke=\"#555\"{}/>\n",
        x, y, wide, high, used ? fill(load) : "#f4f4f4", used ? "" : " stroke-dasharray=\"4 3\"");
    text(x + wide / 2, y + high / 2 - 4, words);
    text(x + wide / 2, y + high / 2 + 14,
         used ? fmt::format("{}{}{}", second, second.empty() ? "" : ": ", percent(load))
              : std::string(second));
  }

  void line(double x1, double y1, double x2, double y2, double load) {
    out_ += fmt::format(
        "<line x1=\"{:.0f}\" y1=\"{:.0f}\" x2=\"{:.0f}\" y2=\"{:.0f}\" stroke=\"{}\" "
        "stroke-width=\"{}\"/>\n",
        x1, y1, x2, y2, load < 0 ? "#bbb" : stroke(load), load < 0 ? 1 : 5);
  }

  void title() {
    const std::string name = box_.name.empty() ? box_.source : box_.name;
    const PacketSize& size = packet_sizes()[point_.size];
    out_ += fmt::format("<text x=\"{}\" y=\"30\" font-size=\"17\" font-weight=\"bold\">{}</text>\n",
                        kMargin, escaped(name));
    out_ += fmt::format(
        "<text x=\"{}\" y=\"54\">{}{}, {}: {:.1f} Mpps, {:.1f} Gb/s{}; stopped by {}</text>\n",
        kMargin, to_string(point_.experiment),
        point_.traffic ? fmt::format(" {}", to_string(*point_.traffic)) : "",
        size.name == "imix" ? "IMIX" : fmt::format("{} B", size.name), point_.mpps, point_.gbit_s,
        point_.gpu ? " with the GPUs" : "", escaped(capacity_.resources[point_.bottleneck].name));
  }

  void socket(size_t s) {
    const Column& column = columns_[s];
    const BoxSocket& socket = box_.sockets[s];
    const double wide = 210, x = column.middle() - wide / 2;
    const double memory = load(ResourceKind::kMemory, s);
    line(column.middle(), kMemoryY + kMemoryHigh, column.middle(), kSocketY, memory);
    part(x, kMemoryY, wide, kMemoryHigh, memory,
         socket.memory_gbyte_s ? fmt::format("memory, {:.0f} GB/s", *socket.memory_gbyte_s)
                               : "memory",
         "");
    part(x, kSocketY, wide, kSocketHigh, load(ResourceKind::kCores, s),
         fmt::format("socket {}: {} cores", socket.id, socket.cores),
         fmt::format("{:g} at work", setup_.cores[s]));
    if (s == 0) return;
    const double between =
        std::max(load(ResourceKind::kIntersocket, s - 1), load(ResourceKind::kIntersocket, s));
    const double from = columns_[s - 1].middle() + wide / 2, y = kSocketY + kSocketHigh / 2;
    line(from, y, x, y, between);
    if (box_.sockets[s - 1].package == socket.package) return;
    text((from + x) / 2, y - 10,
         box_.intersocket_gbyte_s ? fmt::format("{:g} GB/s", *box_.intersocket_gbyte_s) : "link");
    text((from + x) / 2, y + 20, between < 0 ? "" : percent(between));
  }

  // In the middle of its share of the column.
  double hub_x(size_t h) const {
    size_t before = 0, all = 0;
    for (size_t i = 0; i < box_.hubs.size(); ++i) {
      if (box_.hubs[i].socket != box_.hubs[h].socket) continue;
      ++all;
      if (i < h) ++before;
    }
    const Column& column = columns_[box_.hubs[h].socket];
    return column.x + column.wide * (static_cast<double>(before) + 0.5) / static_cast<double>(all);
  }

  void hub(size_t h) {
    const double at = load(ResourceKind::kHub, h), x = hub_x(h);
    line(columns_[box_.hubs[h].socket].middle(), kSocketY + kSocketHigh, x, kHubY, at);
    part(x - 105, kHubY, 210, kHubHigh, at, "I/O hub " + box_.hubs[h].name, "");
  }

  void cards() {
    std::map<size_t, double> next;
    auto place = [&](size_t socket) {
      const auto [at, fresh] = next.emplace(socket, columns_[socket].x);
      const double x = at->second;
      at->second += kCard + kGap;
      return x;
    };
    for (size_t s = 0; s < box_.slots.size(); ++s) slot(s, place(box_.slots[s].socket));
    for (size_t n = 0; n < box_.nics.size(); ++n)
      if (!box_.nics[n].slot) nic(n, place(box_.nics[n].socket), -1, "");
  }

  void nic(size_t n, double x, double link, const std::string& slot_words) {
    const BoxNic& nic = box_.nics[n];
    const Column& column = columns_[nic.socket];
    if (!nic.slot) line(x + kCard / 2, card_y_, column.middle(), kSocketY + kSocketHigh, link);
    const double wire = std::max(load(ResourceKind::kWire, n), load(ResourceKind::kNicPackets, n));
    part(x, card_y_, kCard, kCardHigh, wire, nic.name,
         fmt::format("{} x {:g} Gb/s", nic.pci.size(), nic.gbit_s));
    if (!slot_words.empty()) text(x + kCard / 2, card_y_ + kCardHigh + 18, slot_words);
  }

  void slot(size_t s, double x) {
    const BoxSlot& slot = box_.slots[s];
    const double up_x = slot.hub ? hub_x(*slot.hub) : columns_[slot.socket].middle();
    const double up_y = slot.hub ? kHubY + kHubHigh : kSocketY + kSocketHigh;
    auto words = [](const std::string& words, double link) {
      return link < 0 ? words : fmt::format("{}: {}", words, percent(link));
    };
    for (size_t n = 0; n < box_.nics.size(); ++n)
      if (box_.nics[n].slot == s) {
        const double link = load(ResourceKind::kPcie, n);
        line(x + kCard / 2, card_y_, up_x, up_y, link);
        return nic(n, x, link, words(box_.nics[n].link, link));
      }
    for (size_t g = 0; g < box_.gpus.size(); ++g)
      if (box_.gpus[g].slot == s) {
        const double link = load(ResourceKind::kGpuLink, g);
        line(x + kCard / 2, card_y_, up_x, up_y, link);
        part(x, card_y_, kCard, kCardHigh, load(ResourceKind::kGpu, g), box_.gpus[g].name, "GPU");
        return text(x + kCard / 2, card_y_ + kCardHigh + 18, words(slot.link, link));
      }
    line(x + kCard / 2, card_y_, up_x, up_y, -1);
    part(x, card_y_, kCard, kCardHigh, -1, "slot " + slot.name, "free");
    text(x + kCard / 2, card_y_ + kCardHigh + 18, slot.link);
  }

  void legend(double y) {
    for (int i = 0; i <= 4; ++i) {
      const double load = i / 4.0, x = kMargin + i * 60;
      out_ +=
          fmt::format("<rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"58\" height=\"18\" fill=\"{}\"/>\n",
                      x, y - 14, fill(load));
      text(x + 29, y, percent(load), "font-size=\"11\"");
    }
    out_ +=
        fmt::format("<text x=\"{}\" y=\"{:.0f}\" font-size=\"11\">of what it can carry</text>\n",
                    kMargin + 310, y);
  }

  const Box& box_;
  const Setup& setup_;
  const Capacity& capacity_;
  const Point& point_;
  std::vector<Column> columns_;  // by socket
  double width_ = 0;
  double card_y_ = 0;
  std::string out_;
};

}  // namespace

std::string draw(const Box& box, const Setup& setup, const Capacity& capacity, const Point& point) {
  return Picture(box, setup, capacity, point).run();
}

}  // namespace hecto::config
