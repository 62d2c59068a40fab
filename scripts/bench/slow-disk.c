/*
 * Preloaded into a server: each sync takes SLOW_DISK_MICROSECONDS longer, as on a network disk (5 ms) or a hard disk
 * (10 ms). So does each write of what a model server returned.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define SLOW(name) \
  int name(int fd) { \
    usleep(SLOW_DISK_MICROSECONDS); \
    return ((int (*)(int))dlsym(RTLD_NEXT, #name))(fd); \
  }
SLOW(fsync)
SLOW(fdatasync)

static void wait_if_model(int fd) {
  char link[64], path[4096] = "";
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  if (readlink(link, path, sizeof path - 1) > 0 && strstr(path, "/gen3d-model-")) usleep(SLOW_DISK_MICROSECONDS);
}

ssize_t write(int fd, const void *bytes, size_t count) {
  wait_if_model(fd);
  return ((ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write"))(fd, bytes, count);
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
  wait_if_model(fd);
  return ((ssize_t(*)(int, const struct iovec *, int))dlsym(RTLD_NEXT, "writev"))(fd, parts, count);
}
