//===- Files.cpp - What the tools read and write --------------------------===//

#include "Poot/Support/Files.h"
#include "mlir/Support/FileUtilities.h"
#include "poot/weights/atomic_file.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Process.h"
#include <cerrno>
#include <cstdio>
#include <cstdlib>

using namespace mlir;
using namespace poot;

/// Where TEXT opens bracket kMaxNesting + 1; its size if it never does. Strings
/// and comments are passed over. An excess of closing brackets is the parser's
/// to report.
static size_t findExcessiveNesting(StringRef text) {
  unsigned depth = 0;
  for (size_t i = 0, e = text.size(); i < e; ++i) {
    char previous = i == 0 ? '\0' : text[i - 1];
    char next = i + 1 < e ? text[i + 1] : '\0';
    switch (text[i]) {
    case '"':
      for (++i; i < e && text[i] != '"' && text[i] != '\n'; ++i)
        i += text[i] == '\\';
      break;
    case '/':
      if (next == '/')
        i = std::min(text.find('\n', i), e);
      break;
    case '<':
      if (next == '=') // A relation in an integer set.
        break;
      [[fallthrough]];
    case '(':
    case '[':
    case '{':
      if (++depth > kMaxNesting)
        return i;
      break;
    case '>':
      if (previous == '-' || next == '=') // An arrow, a relation.
        break;
      [[fallthrough]];
    case ')':
    case ']':
    case '}':
      depth -= depth > 0;
      break;
    default:
      break;
    }
  }
  return text.size();
}

std::unique_ptr<llvm::MemoryBuffer> poot::openNestedFile(StringRef path,
                                                         std::string &message) {
  std::unique_ptr<llvm::MemoryBuffer> file = openInputFile(path, &message);
  if (!file)
    return nullptr;
  // The reader of bytecode keeps its own stack. What poot-translate takes
  // besides, GGUF and SPIR-V, stops a parser of text at the first token.
  StringRef text = file->getBuffer();
  for (StringRef magic : {"ML\xefR", "GGUF", "\x03\x02\x23\x07"})
    if (text.starts_with(magic))
      return file;
  size_t excess = findExcessiveNesting(text);
  if (excess == text.size())
    return file;
  StringRef before = text.take_front(excess);
  size_t lineStart = before.rfind('\n') + 1; // npos + 1 is 0.
  message = (path + ":" + llvm::Twine(before.count('\n') + 1) + ":" +
             llvm::Twine(excess - lineStart + 1) + ": more than " +
             llvm::Twine(kMaxNesting) +
             " brackets are open; at most so many may be nested")
                .str();
  return nullptr;
}

void poot::runParser(StringRef path, llvm::function_ref<void()> read) {
  llvm::CrashRecoveryContext::Enable();
  llvm::CrashRecoveryContext recovery;
  // LLVM's own fatal errors are crashes as well, but quiet ones.
  llvm::ScopedFatalErrorHandler quiet(
      [](void *, const char *, bool) { std::abort(); });
  bool survived = recovery.RunSafely(read);
  llvm::CrashRecoveryContext::Disable();
  if (survived)
    return;
  llvm::errs() << path
               << ": error: is damaged, in a way that LLVM's parser of "
                  "such files doesn't survive\n";
  llvm::sys::Process::Exit(1, /*NoCleanup=*/true);
}

LogicalResult poot::flushOutput(std::string &message) {
  llvm::raw_fd_ostream &stream = llvm::outs();
  stream.flush();
  if (!stream.has_error())
    return success();
  message = "standard output can't be written: " +
            weights::systemError(stream.error().value());
  stream.clear_error();
  return failure();
}

LogicalResult poot::writeOutput(StringRef path, StringRef bytes,
                                std::string &message) {
  if (path != "-") {
    weights::Status status = weights::writeFile(
        path.str(),
        {reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()});
    message = status.ok() ? std::string() : status.message();
    return success(status.ok());
  }
  if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size() &&
      std::fflush(stdout) == 0)
    return success();
  message = "standard output can't be written: " + weights::systemError(errno);
  return failure();
}
