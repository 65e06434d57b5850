// Proves a device right, kernel by kernel, with the test vectors of a bundle.

#ifndef POOT_RUNTIME_SELF_CHECK_H
#define POOT_RUNTIME_SELF_CHECK_H

#include "bundle_view.h"

namespace poot::runtime {

Error selfCheck(Device &device, const BundleView &bundle,
                const std::string &targetName, poot_check_report report,
                void *user);

} // namespace poot::runtime

#endif // POOT_RUNTIME_SELF_CHECK_H
