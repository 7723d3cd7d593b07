// SPDX-License-Identifier: Apache-2.0
// What Wireshark's command line program reads in a capture file.
#pragma once

#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

namespace ubl::test {

/// One row per packet that `filter` lets through, one column per field; a field that a packet does
/// not have is "". Checks of FCS and IP checksum are on. RPC over RDMA is off: it guesses what a
/// SEND carries and stumbles over an empty one. Throws when tshark fails, as it does for a file
/// that is no good pcapng file.
inline std::vector<std::vector<std::string>> tshark(const std::string& file,
                                                    const std::vector<std::string>& fields,
                                                    const std::string& filter = "") {
  std::string line =
      "tshark -n --disable-protocol rpcordma -o eth.check_fcs:TRUE -o ip.check_checksum:TRUE -T "
      "fields -E occurrence=f -r '" +
      file + "' -Y '" + filter + "'";
  for (const auto& f : fields) line += " -e " + f;
  // It warns that it runs as root, on standard error; that is all it may say there.
  line += " 2>'" + file + ".err'";
  FILE* p = popen(line.c_str(), "r");
  if (p == nullptr) throw std::runtime_error("popen failed");
  std::string out;
  char buffer[65536];
  size_t n = 0;
  while ((n = fread(buffer, 1, sizeof(buffer), p)) > 0) out.append(buffer, n);
  const int status = pclose(p);
  std::string errors;
  if (FILE* e = fopen((file + ".err").c_str(), "r")) {
    while ((n = fread(buffer, 1, sizeof(buffer), e)) > 0) errors.append(buffer, n);
    fclose(e);
    std::remove((file + ".err").c_str());
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    throw std::runtime_error(line + ": status " + std::to_string(status) + "\n" + errors);
  std::vector<std::vector<std::string>> rows;
  for (size_t at = 0; at < out.size();) {
    const size_t end = out.find('\n', at);
    std::vector<std::string> row;
    for (size_t from = at; from <= end;) {
      const size_t to = std::min(out.find('\t', from), end);
      row.push_back(out.substr(from, to - from));
      from = to + 1;
    }
    rows.push_back(row);
    at = end + 1;
  }
  return rows;
}

}  // namespace ubl::test
