//===- Families.h - One getter a family, for the registry -----------------===//

#ifndef POOT_LIB_MODEL_FAMILIES_H
#define POOT_LIB_MODEL_FAMILIES_H

#include "Poot/Model/Family.h"

namespace poot::model {

const Family &getLlamaFamily();

} // namespace poot::model

#endif // POOT_LIB_MODEL_FAMILIES_H
