/*
 * Preloaded into a process of a test: counts each change of a file below FAULTS_BELOW (a write, a sync, a new name), and
 * makes the n-th one fail. The file FAULTS_CONTROL is shared with the process itself, which chooses the fault.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum mode { NONE, FAIL, STOP, TEAR, DELAY, TWICE };
enum { PASS, REFUSE, HALF };

/* `nth` counts from 1. Once `stopped`, every change fails, as if the process had been killed. */
static volatile struct { int mode, nth, count, stopped; } *control;
static const char *below;

__attribute__((constructor)) static void start(void) {
  below = getenv("FAULTS_BELOW");
  int file = open(getenv("FAULTS_CONTROL"), O_RDWR);
  if (!below || file < 0) abort();
  control = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (control == MAP_FAILED) abort();
  close(file);
}

static int change_of(const char *path) {
  if (!control || !path || strncmp(path, below, strlen(below)) != 0) return PASS;
  if (control->stopped) return REFUSE;
  int change = __atomic_add_fetch(&control->count, 1, __ATOMIC_SEQ_CST);
  /* The process still removes a few files, and ends before its next commit. */
  if (control->mode == TWICE && change == control->nth + 6) control->stopped = 1;
  if (control->stopped) return REFUSE;
  if (change != control->nth) return PASS;
  switch (control->mode) {
    case FAIL:
    case TWICE: return REFUSE;
    case STOP: control->stopped = 1; return REFUSE;
    case TEAR: control->stopped = 1; return HALF;
    case DELAY: usleep(20000); return PASS;
    default: return PASS;
  }
}

static int change_in(int fd) {
  char link[32], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return PASS;
  path[length] = 0;
  return change_of(path);
}

static int refused(void) {
  errno = EIO;
  return -1;
}

#define REAL(name) ((__typeof__(name) *)dlsym(RTLD_NEXT, #name))

#define WRITES(name, parameters, all, half) \
  ssize_t name parameters { \
    switch (change_in(fd)) { \
      case REFUSE: return refused(); \
      case HALF: REAL(name) half; return refused(); \
      default: return REAL(name) all; \
    } \
  }
WRITES(write, (int fd, const void *bytes, size_t size), (fd, bytes, size), (fd, bytes, size / 2))
WRITES(pwrite, (int fd, const void *bytes, size_t size, off_t at), (fd, bytes, size, at), (fd, bytes, size / 2, at))
WRITES(pwrite64, (int fd, const void *bytes, size_t size, off64_t at), (fd, bytes, size, at), (fd, bytes, size / 2, at))
WRITES(writev, (int fd, const struct iovec *parts, int n), (fd, parts, n), (fd, parts, n / 2))
WRITES(pwritev, (int fd, const struct iovec *parts, int n, off_t at), (fd, parts, n, at), (fd, parts, n / 2, at))
WRITES(pwritev64, (int fd, const struct iovec *parts, int n, off64_t at), (fd, parts, n, at), (fd, parts, n / 2, at))

#define CHANGES(name, parameters, what, arguments) \
  int name parameters { return (what) == PASS ? REAL(name) arguments : refused(); }
CHANGES(fsync, (int fd), change_in(fd), (fd))
CHANGES(fdatasync, (int fd), change_in(fd), (fd))
CHANGES(ftruncate, (int fd, off_t size), change_in(fd), (fd, size))
CHANGES(ftruncate64, (int fd, off64_t size), change_in(fd), (fd, size))
CHANGES(rename, (const char *from, const char *to), change_of(to), (from, to))
CHANGES(link, (const char *from, const char *to), change_of(to), (from, to))
CHANGES(unlink, (const char *path), change_of(path), (path))
CHANGES(unlinkat, (int at, const char *path, int flags), *path == '/' ? change_of(path) : change_in(at), (at, path, flags))
CHANGES(rmdir, (const char *path), change_of(path), (path))
CHANGES(mkdir, (const char *path, mode_t mode), change_of(path), (path, mode))

/* Opening a file is a change only if it creates the file. */
#define OPENS(name) \
  int name(const char *path, int flags, ...) { \
    mode_t mode = 0; \
    if (flags & O_CREAT) { \
      va_list rest; \
      va_start(rest, flags); \
      mode = va_arg(rest, mode_t); \
      va_end(rest); \
      if (access(path, F_OK) != 0 && change_of(path) != PASS) return refused(); \
    } \
    return REAL(name)(path, flags, mode); \
  }
OPENS(open)
OPENS(open64)
