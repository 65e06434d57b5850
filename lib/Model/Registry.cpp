//===- Registry.cpp - The families that poot knows ------------------------===//

#include "Families.h"

using namespace poot;
using namespace poot::model;

const std::vector<const Family *> &model::families() {
  static const std::vector<const Family *> all = {&getLlamaFamily()};
  return all;
}

weights::Expected<const Family *> model::findFamily(std::string_view name,
                                                    const std::string &where) {
  std::string known;
  for (const Family *family : families()) {
    if (name == family->name())
      return family;
    known += (known.empty() ? "" : ", ") + std::string(family->name());
  }
  return weights::makeError(weights::StatusCode::Unsupported, where,
                            ": the model family ", weights::quoted(name),
                            " is unknown; known are ", known);
}
