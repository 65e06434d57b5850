// Reader and writer of .npy files, format versions 1 and 2: how arrays enter
// and leave poot's tools.
//
// Little-endian scalars in row-major order. bf16 and the 8-bit floats have no
// .npy descriptor: convert them to f32 first. Format: numpy.lib.format.

#ifndef POOT_WEIGHTS_NPY_H
#define POOT_WEIGHTS_NPY_H

#include "poot/weights/element_type.h"
#include "poot/weights/mapped_file.h"

namespace poot::weights {

struct NpyArray {
  ElementType type = ElementType::F32;
  Shape shape;               ///< Outermost first; empty for a scalar.
  std::vector<uint8_t> data; ///< countBytes(type, shape) bytes.
};

/// Reads the file at PATH. Every error names the file, what was wrong and what
/// is allowed; nothing is allocated beyond what the file's length bears out.
Expected<NpyArray> readNpy(const std::string &path);

/// The same over bytes in memory; NAME stands in messages.
Expected<NpyArray> parseNpy(ByteSpan bytes, const std::string &name);

/// Writes countBytes(type, shape) bytes from DATA to PATH through AtomicFile.
/// Errors: the type has no descriptor; those of AtomicFile.
Status writeNpy(const std::string &path, ElementType type, const Shape &shape,
                const void *data);

} // namespace poot::weights

#endif // POOT_WEIGHTS_NPY_H
