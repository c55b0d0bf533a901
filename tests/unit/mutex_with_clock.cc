// pthread_mutex_clocklock for programs under gcc 12's thread sanitizer, which does not know it: it
// would take whatever std::timed_mutex::try_lock_for() has locked to be locked by nobody. What it
// knows is pthread_mutex_timedlock.
#include <pthread.h>
#include <time.h>

#include <cstdint>

namespace {

constexpr int64_t kNsPerSecond = 1'000'000'000;

int64_t Nanoseconds(const timespec& time) { return time.tv_sec * kNsPerSecond + time.tv_nsec; }

int64_t Now(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return Nanoseconds(now);
}

}  // namespace

extern "C" int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock,
                                       const timespec* until) {
  const int64_t wall = Now(CLOCK_REALTIME) + Nanoseconds(*until) - Now(clock);
  const timespec wall_time{.tv_sec = wall / kNsPerSecond, .tv_nsec = wall % kNsPerSecond};
  return pthread_mutex_timedlock(mutex, &wall_time);
}
