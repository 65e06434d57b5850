// What objects of a kernel may not be.

#include "poot/kernel.h"

#include <memory>
#include <optional>
#include <string>
#include <typeinfo>
#include <vector>
using namespace poot;
#define KERNEL POOT_KERNEL POOT_WORKGROUP_SIZE(64, 1, 1) void

struct Shape {
  virtual float area() const { return 1; }
};
struct Square : Shape {
  float area() const override { return 4; }
};

inline float areaOf(const Shape &shape) { return shape.area(); }
//                                                     ^ error: call of the virtual function 'area' in a kernel [virtual]

KERNEL objects(buffer<float> y) {
  Square square;
//       ^ error: class 'Square' with virtual functions in a kernel [virtual]
  y[0] = areaOf(square);
//       ^ note: reached through this call of 'areaOf'
}

struct Base {
  float v;
};
struct Left : virtual Base {
  float l;
};

KERNEL bases(buffer<float> y) {
  Left left;
//     ^ error: class 'Left' with a virtual base in a kernel [virtual-base]
  y[0] = left.v;
}

union Bits {
  float f;
  uint32_t u;
};
struct Holder {
  int kind;
  Bits bits;
};

KERNEL unions(buffer<float> y) {
  Bits bits;
//     ^ error: union 'Bits' in a kernel [union]
  bits.f = y[0];
  Holder holder{};
//       ^ error: union 'Bits' in a kernel [union]
  y[1] = holder.bits.f;
}

struct Guard {
  buffer<float> y;
  ~Guard() { y[0] = 1; }
};
struct Guards {
  Guard first;
};

KERNEL destructors(buffer<float> y) {
  Guard guard{y};
//      ^ error: class 'Guard' with a destructor in a kernel [destructor]
  Guards both{{y}};
//       ^ error: class 'Guard' with a destructor in a kernel [destructor]
}

struct Flags {
  uint32_t low : 4;
  uint32_t high : 28;
};

KERNEL bitFields(buffer<uint32_t> y) {
  Flags flags{1, 2};
//      ^ error: class 'Flags' with bit-fields in a kernel [bit-field]
  y[0] = flags.low;
}

inline int size(const std::vector<int> &v) { return v.size(); }

KERNEL containers(buffer<int> y, int n) {
  std::vector<int> v(n);
//                 ^ error: object of type 'std::vector<int>' in a kernel [container]
  v.push_back(n);
  y[0] = size(v) + v[0];
  std::string text = "abc";
//            ^ error: object of type 'std::basic_string<char>' in a kernel [container]
  std::unique_ptr<int> p;
//                     ^ error: object of type 'std::unique_ptr<int>' in a kernel [container]
  std::optional<std::string> perhaps;
//                           ^ error: object of type 'std::optional<std::basic_string<char> >' in a kernel [container]
  std::optional<int> maybe = n;
//                   ^ error: object of type 'std::optional<int>' in a kernel [container]
  y[1] = *maybe;
}

KERNEL rtti(buffer<int> y, int n) {
  y[0] = typeid(y) == typeid(n);
//       ^ error: 'typeid' in a kernel [rtti]
//                    ^ error: 'typeid' in a kernel [rtti]
}

inline bool isSquare(const Shape &shape) {
  return dynamic_cast<const Square *>(&shape) != nullptr;
//       ^ error: dynamic_cast in a kernel [rtti]
//                                               ^ error: null pointer in a kernel [pointer]
}

KERNEL casts(buffer<int> y) {
  Square square;
//       ^ error: class 'Square' with virtual functions in a kernel [virtual]
  y[0] = isSquare(square);
//       ^ note: reached through this call of 'isSquare'
//       ^ note: reached through this call of 'isSquare'
}
