// The server's mutex of global variables, let go while one of them is being set.
#pragma once

#include "mariadb/server_headers.h"

namespace cairn {

// The server holds its mutex of the global variables while one changes. What takes long lets it go,
// so that other sessions can start and set theirs.
class WithoutVariablesLock {
 public:
  WithoutVariablesLock() {
    // mysql_mutex_unlock() of the headers, but for a function that the server does not export.
    if (mutex_.m_psi != nullptr) PSI_DYNAMIC_CALL(unlock_mutex)(mutex_.m_psi);
    pthread_mutex_unlock(&mutex_.m_mutex);
  }
  ~WithoutVariablesLock() { mysql_mutex_lock(&mutex_); }
  WithoutVariablesLock(const WithoutVariablesLock&) = delete;
  WithoutVariablesLock& operator=(const WithoutVariablesLock&) = delete;

 private:
  mysql_mutex_t& mutex_ = LOCK_global_system_variables;
};

}  // namespace cairn
