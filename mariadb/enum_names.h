// The names of a system variable of type ENUM, as the server wants them.
#pragma once

#include "mariadb/server_headers.h"

namespace cairn {

// A TYPELIB over names that lie one after the other, each ended by a zero byte. The names outlive
// this.
class EnumNames {
 public:
  explicit EnumNames(const char* names) {
    for (; *names != '\0'; names += lengths_[typelib_.count++] + 1) {
      names_[typelib_.count] = names;
      lengths_[typelib_.count] = static_cast<unsigned int>(strlen(names));
    }
    typelib_.name = "";
    typelib_.type_names = names_;
    typelib_.type_lengths = lengths_;
  }
  EnumNames(const EnumNames&) = delete;  // The TYPELIB points into this.
  EnumNames& operator=(const EnumNames&) = delete;

  TYPELIB* typelib() { return &typelib_; }

 private:
  static constexpr int kMaxNames = 8;
  const char* names_[kMaxNames + 1] = {};
  unsigned int lengths_[kMaxNames + 1] = {};
  TYPELIB typelib_{};
};

}  // namespace cairn
