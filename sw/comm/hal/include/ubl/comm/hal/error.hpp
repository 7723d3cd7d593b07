// Copyright 2026 The OpenUBL Authors
// SPDX-License-Identifier: Apache-2.0
// The one exception of the communication library.
#pragma once

#include <stdexcept>
#include <string>

namespace ubl::comm {

enum class ErrorKind {
  kInvalidArgument,  ///< the caller's arguments; nothing was sent
  kNotSupported,     ///< a data type or operator that is not implemented; nothing was sent
  kDeviceReported,   ///< a completion or the error log of the card reports a failure
  kTimeout,          ///< no progress; the message says who waits for whom
  kProtocol,         ///< the ranks disagree about what they are doing
  kInternal,         ///< a bug of this library
};

inline const char* to_string(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInvalidArgument:
      return "invalid argument";
    case ErrorKind::kNotSupported:
      return "not supported";
    case ErrorKind::kDeviceReported:
      return "device error";
    case ErrorKind::kTimeout:
      return "no progress";
    case ErrorKind::kProtocol:
      return "protocol error";
    case ErrorKind::kInternal:
      return "internal error";
  }
  return "?";
}

class CommError : public std::runtime_error {
 public:
  CommError(ErrorKind kind, const std::string& message)
      : std::runtime_error(std::string(to_string(kind)) + ": " + message),
        kind_(kind),
        message_(message) {}
  ErrorKind kind() const { return kind_; }
  const std::string& message() const { return message_; }  ///< without the kind

 private:
  ErrorKind kind_;
  std::string message_;
};

}  // namespace ubl::comm
