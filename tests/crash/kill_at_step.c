/* Ends the process just before a chosen change of a file: preloaded into the server (LD_PRELOAD).

   The control file, which both sides map, has three 32-bit numbers: whether steps count now, the step to die
   before (0: none), and how many steps there were. A step is a call that changes what another process would
   see below the data directory: files made, written, cut, renamed, removed. Syncs are none, since a killed
   process leaves the operating system's cache alone. Each counted step is a line in the trace file. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

struct control {
  _Atomic uint32_t armed;
  _Atomic uint32_t kill_at;
  _Atomic uint32_t count;
};

static struct control* control;
static int trace = -1;
static const char* data;
static size_t data_length;

__attribute__((constructor)) static void start(void) {
  const char* const control_path = getenv("CAIRN_KILL_CONTROL");
  const char* const trace_path = getenv("CAIRN_KILL_TRACE");
  data = getenv("CAIRN_KILL_DATA");
  if (control_path == NULL || trace_path == NULL || data == NULL) return;
  data_length = strlen(data);
  const int file = (int)syscall(SYS_openat, AT_FDCWD, control_path, O_RDWR | O_CLOEXEC);
  if (file < 0) return;
  void* const mapped =
      mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  trace = (int)syscall(SYS_openat, AT_FDCWD, trace_path, O_WRONLY | O_APPEND | O_CLOEXEC);
  if (mapped != MAP_FAILED) control = mapped;
}

static int starts_with(const char* text, const char* beginning) {
  return strncmp(text, beginning, strlen(beginning)) == 0;
}

static int ends_with(const char* text, const char* end) {
  const size_t length = strlen(text), end_length = strlen(end);
  return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

/* Whether a change of this file counts: below the data directory, and no other engine's business. */
static int is_counted(const char** path) {
  const char* name = *path;
  if (name[0] == '/') {
    if (strncmp(name, data, data_length) != 0 || name[data_length] != '/') return 0;
    name += data_length + 1;
  }
  while (starts_with(name, "./")) name += 2;
  if (starts_with(name, "mysql/")) return 0;
  *path = name;
  const char* const slash = strrchr(name, '/');
  const char* const base = slash == NULL ? name : slash + 1;
  if (starts_with(base, "LOG") || starts_with(base, "ib") || starts_with(base, "undo") ||
      starts_with(base, "aria_log")) {
    return 0;
  }
  return !ends_with(base, ".ibd") && !ends_with(base, ".pid") && !ends_with(base, ".MAI") &&
         !ends_with(base, ".MAD");
}

static void step(const char* call, const char* path) {
  const int saved = errno;
  if (control == NULL || !atomic_load(&control->armed) || !is_counted(&path)) {
    errno = saved;
    return;
  }
  const uint32_t number = atomic_fetch_add(&control->count, 1) + 1;
  const int last = number == atomic_load(&control->kill_at);
  char line[PATH_MAX + 64];
  const int length = snprintf(line, sizeof line, "%u %s %s\n", number, call, path);
  if (trace >= 0 && length > 0) syscall(SYS_write, trace, line, (size_t)length);
  while (last) kill(getpid(), SIGKILL);
  errno = saved;
}

static void step_on_file(const char* call, int file) {
  if (control == NULL || !atomic_load(&control->armed)) return;
  const int saved = errno;
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  errno = saved;
  if (length <= 0 || path[0] != '/') return;  /* A socket or a pipe. */
  path[length] = 0;
  step(call, path);
}

static void step_on_open(const char* path, int flags) {
  if (control == NULL || !atomic_load(&control->armed)) return;
  const int saved = errno;
  if ((flags & O_TRUNC) || ((flags & O_CREAT) && access(path, F_OK) != 0)) step("create", path);
  errno = saved;
}

#define NEXT(name)               \
  static __typeof__(&name) next; \
  if (next == NULL) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

#define OPEN(name)                                       \
  int name(const char* path, int flags, ...) {           \
    NEXT(name);                                          \
    va_list arguments;                                   \
    va_start(arguments, flags);                          \
    const mode_t mode = (mode_t)va_arg(arguments, int);  \
    va_end(arguments);                                   \
    step_on_open(path, flags);                           \
    return next(path, flags, mode);                      \
  }
#define OPENAT(name)                                         \
  int name(int folder, const char* path, int flags, ...) {   \
    NEXT(name);                                              \
    va_list arguments;                                       \
    va_start(arguments, flags);                              \
    const mode_t mode = (mode_t)va_arg(arguments, int);      \
    va_end(arguments);                                       \
    if (folder == AT_FDCWD || path[0] == '/') {              \
      step_on_open(path, flags);                             \
    }                                                        \
    return next(folder, path, flags, mode);                  \
  }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

#define ON_FILE(result, name, parameters, arguments) \
  result name parameters {                           \
    NEXT(name);                                   \
    step_on_file(#name, file);                       \
    return next arguments;                           \
  }
ON_FILE(ssize_t, write, (int file, const void* bytes, size_t count), (file, bytes, count))
ON_FILE(ssize_t, pwrite, (int file, const void* bytes, size_t count, off_t offset),
        (file, bytes, count, offset))
ON_FILE(ssize_t, pwrite64, (int file, const void* bytes, size_t count, off64_t offset),
        (file, bytes, count, offset))
ON_FILE(ssize_t, writev, (int file, const struct iovec* parts, int count), (file, parts, count))
ON_FILE(int, ftruncate, (int file, off_t length), (file, length))
ON_FILE(int, ftruncate64, (int file, off64_t length), (file, length))

#define ON_PATH(name, parameters, arguments) \
  int name parameters {                      \
    NEXT(name);                           \
    step(#name, path);                       \
    return next arguments;                   \
  }
ON_PATH(rename, (const char* path, const char* target), (path, target))
ON_PATH(link, (const char* path, const char* target), (path, target))
ON_PATH(symlink, (const char* target, const char* path), (target, path))
ON_PATH(unlink, (const char* path), (path))
ON_PATH(remove, (const char* path), (path))
ON_PATH(rmdir, (const char* path), (path))
ON_PATH(mkdir, (const char* path, mode_t mode), (path, mode))
ON_PATH(truncate, (const char* path, off_t length), (path, length))
