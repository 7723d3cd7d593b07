// SPDX-License-Identifier: Apache-2.0
// Runs the ublsim program as a user would and reads what it says.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace ubl::e2e {

/// Not "Run": a GoogleTest case has a private member of that name.
struct Outcome {
  int exit_code = -1;
  std::string output;  ///< standard output and error
  nlohmann::json json;
  std::string command;  ///< to repeat it by hand
};

/// A file that is gone at the end of the test.
class TempFile {
 public:
  explicit TempFile(const std::string& text = "") {
    path_ = ::testing::TempDir() + "/ubl-e2e-" + std::to_string(getpid()) + "-" +
            std::to_string(serial()++);
    std::ofstream(path_) << text;
  }
  ~TempFile() { std::remove(path_.c_str()); }
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  static int& serial() {
    static int n = 0;
    return n;
  }
  std::string path_;
};

inline Outcome ublsim(const std::string& arguments) {
  const TempFile json;
  Outcome r;
  r.command = std::string(UBLSIM) + " " + arguments;
  // A hang must not outlive the test program's own time limit.
  const std::string line = "timeout 300 " + r.command +
                           (arguments.rfind("run ", 0) == 0 ? " --json " + json.path() : "") +
                           " 2>&1";
  FILE* p = popen(line.c_str(), "r");
  if (p == nullptr) throw std::runtime_error("popen failed");
  char buffer[4096];
  size_t n = 0;
  while ((n = fread(buffer, 1, sizeof(buffer), p)) > 0) r.output.append(buffer, n);
  const int status = pclose(p);
  r.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  std::ifstream f(json.path());
  r.json = nlohmann::json::parse(f, nullptr, false);
  return r;
}

inline ::testing::AssertionResult ends_with_status(const Outcome& r, int want) {
  if (r.exit_code == want) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << "status " << r.exit_code << " instead of " << want << "\n  " << r.command << "\n"
         << r.output;
}

inline ::testing::AssertionResult verified(const Outcome& r) {
  if (r.exit_code == 0 && r.json.is_object() && r.json.value("verified", false) &&
      r.json.value("mismatches", 1) == 0)
    return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << r.command << "\nstatus " << r.exit_code << "\n"
                                       << r.output;
}

}  // namespace ubl::e2e
