// .npy files and atomic output: round trips, files as numpy writes them, and
// the message for every kind of failure.

#include "byte_builder.h"
#include "poot/weights/atomic_file.h"
#include "poot/weights/npy.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <sys/resource.h>
#include <unistd.h>

using namespace poot::weights;
using namespace poot::weights::test;

namespace {

class FolderTest : public testing::Test {
protected:
  void SetUp() override {
    folder_ =
        std::filesystem::temp_directory_path() /
        concat("poot-npy-", ::getpid(), "-",
               testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string &name) const {
    return (folder_ / name).string();
  }
  std::string read(const std::string &name) const {
    std::ifstream in(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in),
            std::istreambuf_iterator<char>()};
  }
  size_t fileCount() const {
    auto begin = std::filesystem::directory_iterator(folder_);
    return static_cast<size_t>(
        std::distance(begin, std::filesystem::directory_iterator()));
  }

  std::filesystem::path folder_;
};

using NpyTest = FolderTest;
using AtomicFileTest = FolderTest;

TEST_F(NpyTest, RoundTripsEveryTypeAndShape) {
  std::mt19937 random(7);
  std::vector<Shape> shapes = {
      {}, {0}, {1}, {5}, {3, 4}, {2, 0, 3}, {1, 2, 3, 4, 5}};
  for (const ElementTypeInfo &info : elementTypes) {
    if (!info.npy)
      continue;
    for (const Shape &shape : shapes) {
      std::vector<uint8_t> data(
          static_cast<size_t>(*countBytes(info.type, shape)));
      for (uint8_t &byte : data)
        byte = static_cast<uint8_t>(random());
      Status status = writeNpy(path("a.npy"), info.type, shape, data.data());
      ASSERT_TRUE(status.ok()) << status.message();
      EXPECT_EQ((read("a.npy").size() - data.size()) % 64, 0u);
      auto array = readNpy(path("a.npy"));
      ASSERT_TRUE(array) << array.status().message();
      EXPECT_EQ(array->type, info.type);
      EXPECT_EQ(array->shape, shape);
      EXPECT_EQ(array->data, data);
    }
  }
  EXPECT_EQ(fileCount(), 1u);
}

std::string npy(const std::string &header, const std::string &data,
                int version = 1) {
  std::string size = version == 1
                         ? raw<uint16_t>(static_cast<uint16_t>(header.size()))
                         : raw<uint32_t>(static_cast<uint32_t>(header.size()));
  return std::string("\x93NUMPY") + static_cast<char>(version) + '\0' + size +
         header + data;
}

TEST_F(NpyTest, WritesWhatNumpyWrites) {
  // numpy.save of numpy.array([1, -2], numpy.int16), numpy 1.26.
  int16_t values[] = {1, -2};
  ASSERT_TRUE(writeNpy(path("a.npy"), ElementType::I16, {2}, values).ok());
  std::string header =
      "{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }";
  header += std::string(118 - 1 - header.size(), ' ') + "\n";
  EXPECT_EQ(read("a.npy"), npy(header, std::string("\1\0\xfe\xff", 4)));
}

TEST_F(NpyTest, ReadsOtherSpellings) {
  std::string bytes = npy("{\"shape\":(3 ,),\"fortran_order\" : True,"
                          "\"descr\":\"|u1\"}",
                          "abc", 2);
  auto array = parseNpy(spanOf(bytes), "a.npy");
  ASSERT_TRUE(array) << array.status().message();
  EXPECT_EQ(array->type, ElementType::U8);
  EXPECT_EQ(array->shape, Shape{3});
}

TEST_F(NpyTest, RejectsEveryMalformedFile) {
  const char *types =
      "'<f4', '<f2', '<f8', '|i1', '<i2', '<i4', '<i8', '|u1', '<u2', '<u4', "
      "'<u8', '|b1'";
  std::string good =
      npy("{'descr':'<f4','fortran_order':False,'shape':(2,)}", "12345678");
  auto header = [](const std::string &text) { return npy(text, "12345678"); };
  std::vector<std::pair<std::string, std::string>> files = {
      {"", "not a .npy file: must start with '\\x93NUMPY', a version and a "
           "header length"},
      {std::string(20, 'x'),
       "not a .npy file: must start with '\\x93NUMPY', a version and a header "
       "length"},
      {npy("{}", "", 3), ".npy version 3.0 is not supported, must be 1.0 or "
                         "2.0"},
      {std::string("\x93NUMPY\2\0\1\0", 10),
       "truncated: ends within the header length"},
      {std::string("\x93NUMPY\1\0\xff\xff", 10) + "{}",
       "declares a header of 65535 bytes, but 2 remain"},
      {good.substr(0, good.size() - 1),
       "shape 2 of f32 takes 8 bytes, but 7 follow the header"},
      {good + "x", "shape 2 of f32 takes 8 bytes, but 9 follow the header"},
      {header("[1]"), "byte 10: the header must be a Python dictionary"},
      {header("{'descr':'<f4','fortran_order':False,'shape':(2,)} x"),
       "byte 61: text follows the header's dictionary"},
      {header("{'descr':'<f4','fortran_order':False}"),
       "byte 47: the header lacks 'shape'"},
      {header("{'fortran_order':False,'shape':(2,)}"),
       "byte 46: the header lacks 'descr'"},
      {header("{'descr':'<f4','shape':(2,)}"),
       "byte 38: the header lacks 'fortran_order'"},
      {header("{'descr':'<f4','descr':'<f4'}"),
       "byte 32: key 'descr' occurs twice"},
      {header("{'order':1}"), "byte 18: unknown key 'order', must be 'descr', "
                              "'fortran_order' or 'shape'"},
      {header("{descr:1}"), "byte 11: expected a key in quotes or '}'"},
      {header("{'descr' '<f4'}"), "byte 19: expected ':' after key 'descr'"},
      {header("{'descr':'<f4' 'shape':(2,)}"),
       "byte 25: expected ',' or '}' after the value of 'descr'"},
      {header("{'descr':4}"), "byte 19: 'descr' must be a string"},
      {header("{'descr':[('a','<f4')]}"),
       "byte 19: a structured array; elements must be scalars"},
      {header("{'descr':'>f4'}"),
       concat("byte 24: descr '>f4' is big-endian; must be one of ", types)},
      {header("{'descr':'|O'}"),
       concat("byte 23: an array of Python objects (pickled); must be one of ",
              types)},
      {header("{'descr':'<c8'}"),
       concat("byte 24: descr '<c8' is unknown; must be one of ", types)},
      {header("{'fortran_order':0}"),
       "byte 27: 'fortran_order' must be True or False"},
      {header("{'descr':'<f4','fortran_order':True,'shape':(1,2)}"),
       "byte 60: the array is in Fortran order; save it in row-major order, "
       "with numpy.ascontiguousarray"},
      {header("{'shape':2}"), "byte 19: 'shape' must be a tuple of integers"},
      {header("{'shape':(-2,)}"), "byte 20: 'shape' must be a tuple of "
                                  "integers that aren't negative"},
      {header("{'shape':(2;3)}"), "byte 21: expected ',' or ')' in 'shape'"},
      {header("{'shape':(99999999999999999999,)}"),
       "byte 38: an extent is beyond 2^63-1"},
      {header("{'shape':(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
              "1,1,1,1,1,1)}"),
       "byte 85: more than 32 dimensions"},
      {header("{'descr':'<f4','fortran_order':False,"
              "'shape':(4611686018427387904,)}"),
       "shape 4611686018427387904 of f32 takes more than 2^63-1 bytes"},
      {header("{'descr':'|u1','fortran_order':False,"
              "'shape':(1099511627776,)}"),
       "shape 1099511627776 of u8 takes 1099511627776 bytes, but 8 follow the "
       "header"},
      {header("{'descr':'<f4"), "byte 19: 'descr' must be a string"},
      {header("{'shape':("), "byte 20: 'shape' must be a tuple of integers "
                             "that aren't negative"},
      {header("{"), "byte 11: expected a key in quotes or '}'"},
  };
  for (const auto &[bytes, message] : files) {
    auto array = parseNpy(spanOf(bytes), "bad.npy");
    EXPECT_EQ(array ? "no error" : array.status().message(),
              "bad.npy: " + message)
        << bytes;
  }
}

TEST_F(NpyTest, WriteErrors) {
  float value = 1;
  EXPECT_EQ(writeNpy("x.npy", ElementType::BF16, {}, &value).message(),
            "x.npy: bf16 can't be stored in a .npy file; can be: '<f4', "
            "'<f2', '<f8', '|i1', '<i2', '<i4', '<i8', '|u1', '<u2', '<u4', "
            "'<u8', '|b1'");
  EXPECT_EQ(writeNpy("x.npy", ElementType::F32, {-1}, &value).message(),
            "x.npy: shape -1 has a negative extent");
  EXPECT_EQ(writeNpy("x.npy", ElementType::F32, Shape(33, 1), &value).message(),
            "x.npy: 33 dimensions, a .npy file may have 32");
  std::string missing = path("none/x.npy");
  EXPECT_EQ(writeNpy(missing, ElementType::F32, {}, &value).message(),
            missing + ": cannot create: no such file or directory");
}

TEST_F(AtomicFileTest, AppearsWhenCommitted) {
  {
    auto file = AtomicFile::create(path("out"));
    ASSERT_TRUE(file) << file.status().message();
    ASSERT_TRUE(file->write("abc").ok());
    ASSERT_TRUE(file->padTo(8).ok());
    ASSERT_TRUE(file->padTo(8).ok());
    EXPECT_EQ(file->size(), 8u);
    ASSERT_TRUE(file->write("d").ok());
    EXPECT_FALSE(std::filesystem::exists(path("out")));
    AtomicFile moved = std::move(*file);
    ASSERT_TRUE(moved.commit().ok());
  }
  EXPECT_EQ(read("out"), std::string("abc\0\0\0\0\0d", 9));
  EXPECT_EQ(fileCount(), 1u);
}

TEST_F(AtomicFileTest, LeavesTheOldFileWhenDropped) {
  ASSERT_TRUE(writeFile(path("out"), spanOf("old")).ok());
  {
    auto file = AtomicFile::create(path("out"));
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->write("new").ok());
    EXPECT_EQ(fileCount(), 2u);
  }
  EXPECT_EQ(read("out"), "old");
  EXPECT_EQ(fileCount(), 1u);
}

TEST_F(AtomicFileTest, WritesThroughLinks) {
  ASSERT_TRUE(writeFile(path("real"), spanOf("old")).ok());
  std::filesystem::create_symlink(path("real"), path("link"));
  ASSERT_TRUE(writeFile(path("link"), spanOf("new")).ok());
  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
  EXPECT_EQ(read("real"), "new");
}

TEST_F(AtomicFileTest, FullDisk) {
  Status status = writeFile("/dev/full", spanOf("data"));
  EXPECT_EQ(status.code(), StatusCode::ResourceExhausted);
  EXPECT_EQ(status.message(),
            "/dev/full: cannot write: no space left on device");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

TEST_F(AtomicFileTest, FileTooLarge) {
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit old;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  rlimit small = {1000, old.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  Status status = writeFile(path("out"), spanOf(std::string(2000, 'x')));
  ::setrlimit(RLIMIT_FSIZE, &old);
  EXPECT_EQ(status.code(), StatusCode::ResourceExhausted);
  EXPECT_EQ(status.message(), path("out") + ": cannot write: file too large");
  EXPECT_EQ(fileCount(), 0u);
}

TEST_F(AtomicFileTest, DevicesAndFolders) {
  EXPECT_TRUE(writeFile("/dev/null", spanOf("data")).ok());
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  EXPECT_EQ(writeFile(folder_.string(), spanOf("data")).message(),
            folder_.string() +
                ": cannot write: is a directory, must be a file name");
}

} // namespace
