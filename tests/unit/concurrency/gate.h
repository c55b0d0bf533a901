// What the server's metadata locks are to the engine: whoever uses a table keeps its definition,
// whoever builds an index keeps its rows.
#pragma once

#include <pthread.h>

#include <mutex>
#include <shared_mutex>

namespace cairn::testing {

// As std::shared_mutex, but whoever wants it alone goes before those who come later to share it.
class PatientMutex {
 public:
  PatientMutex() {
    pthread_rwlockattr_t attributes;
    pthread_rwlockattr_init(&attributes);
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&lock_, &attributes);
    pthread_rwlockattr_destroy(&attributes);
  }
  ~PatientMutex() { pthread_rwlock_destroy(&lock_); }
  PatientMutex(const PatientMutex&) = delete;
  PatientMutex& operator=(const PatientMutex&) = delete;

  void lock() { pthread_rwlock_wrlock(&lock_); }
  void unlock() { pthread_rwlock_unlock(&lock_); }
  void lock_shared() { pthread_rwlock_rdlock(&lock_); }
  bool try_lock_shared() { return pthread_rwlock_tryrdlock(&lock_) == 0; }
  void unlock_shared() { pthread_rwlock_unlock(&lock_); }

 private:
  pthread_rwlock_t lock_;
};

// Of one table. Whoever takes both takes `rows` first; of several tables, `rows` of all of them.
struct Gate {
  PatientMutex rows;        // Shared by transactions that write.
  PatientMutex definition;  // Shared by transactions that read or write.
};

}  // namespace cairn::testing
