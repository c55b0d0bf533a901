// The row that an event of a replica names, while its table is searched for it
// (handler_applier.cc).
#pragma once

#include <string>

#include "mariadb/server_headers.h"

namespace cairn {

class SoughtRow {
 public:
  // A scan begins. It looks for no key until it is told one.
  void BeginScan() {
    key_parts_ = 0;
    looked_again_ = false;
  }
  void SetKey(const uchar* key, uint key_bytes, key_part_map parts) {
    key_.assign(reinterpret_cast<const char*>(key), key_bytes);
    key_parts_ = parts;
  }

  bool has_key() const { return key_parts_ != 0; }
  // In the server's image.
  const uchar* key() const { return reinterpret_cast<const uchar*>(key_.data()); }
  key_part_map key_parts() const { return key_parts_; }

  // The scan has come to its end, and has looked once more.
  void NoteLookedAgain() { looked_again_ = true; }
  bool looked_again() const { return looked_again_; }

 private:
  std::string key_;
  key_part_map key_parts_ = 0;  // 0: there is none.
  bool looked_again_ = false;
};

}  // namespace cairn
