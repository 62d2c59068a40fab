/* Preloaded into a server: each sync takes SLOW_DISK_MICROSECONDS longer, as on a network disk (5 ms) or a hard disk (10 ms). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>

#define SLOW(name) \
  int name(int fd) { \
    usleep(SLOW_DISK_MICROSECONDS); \
    return ((int (*)(int))dlsym(RTLD_NEXT, #name))(fd); \
  }
SLOW(fsync)
SLOW(fdatasync)
