// Faults as text.

#include "program.h"

using namespace poot;
using namespace poot::interp;

std::string_view poot::interp::getName(Fault fault) {
  static constexpr std::string_view names[kFaults] = {
      "out-of-bounds",     "race",     "uninitialized", "poison",
      "divergent-barrier", "division", "shift",         "subgroup",
      "unreachable"};
  return names[static_cast<unsigned>(fault)];
}

static std::string text(const Place &place) {
  if (!place.file.empty())
    return weights::concat(place.file, ":", place.line, ":", place.column);
  return place.name;
}

std::string poot::interp::toText(const Report &report) {
  std::string out;
  auto line = [&](const Path &path, const char *kind, std::string_view message,
                  std::string_view tail) {
    std::string place = path.empty() ? "" : text(path.front());
    if (place.empty())
      place = weights::concat("kernel '", report.kernel, "'");
    out += weights::concat(place, ": ", kind, ": ", message, tail, "\n");
    for (size_t i = 1; i < path.size(); ++i)
      if (std::string caller = text(path[i]); !caller.empty())
        out += weights::concat(caller, ": note: called from here\n");
  };
  line(report.path, "error", report.message,
       weights::concat(" [poot-sanitize-", getName(report.fault), "]"));
  for (const Report::Note &note : report.notes)
    line(note.path.empty() ? Path(report.path.begin(),
                                  report.path.begin() + !report.path.empty())
                           : note.path,
         "note", note.message, "");
  if (report.count > 1)
    line(Path(report.path.begin(), report.path.begin() + !report.path.empty()),
         "note", weights::concat("seen ", report.count, " times"), "");
  return out;
}

Path DecodedProgram::path(uint32_t site) const {
  Path path;
  while (site != kNone && path.size() < 64) {
    const Site &at = sites[site];
    for (const kir::Frame &frame : kir::callPath(*module, at.location))
      path.push_back({std::string(frame.file), frame.line, frame.column,
                      std::string(frame.name)});
    site = at.parent;
  }
  return path;
}
