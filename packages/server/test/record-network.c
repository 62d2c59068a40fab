/* Preloaded into the processes of a test: writes down every lookup and connection that is not local, and refuses it. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void record(const char *what, const char *whom) {
  char line[512];
  int file = open(NETWORK_RECORD, O_WRONLY | O_APPEND | O_CREAT, 0600);
  if (file < 0) abort();
  int length = snprintf(line, sizeof line, "%s %s\n", what, whom);
  if (write(file, line, length) != length) abort();
  close(file);
}

/* Whether this address is on the network; then it has been recorded. */
static int remote(const char *what, const struct sockaddr *address) {
  char text[INET6_ADDRSTRLEN] = "?";
  if (address && address->sa_family == AF_INET) {
    inet_ntop(AF_INET, &((const struct sockaddr_in *)address)->sin_addr, text, sizeof text);
  } else if (address && address->sa_family == AF_INET6) {
    inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)address)->sin6_addr, text, sizeof text);
  } else {
    return 0;
  }
  record(what, text);
  return 1;
}

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **result) {
  (void)service, (void)hints, (void)result;
  record("lookup", node ? node : "?");
  return EAI_FAIL;
}

int connect(int fd, const struct sockaddr *address, socklen_t length) {
  static int (*real)(int, const struct sockaddr *, socklen_t);
  if (!real) real = dlsym(RTLD_NEXT, "connect");
  if (!remote("connect", address)) return real(fd, address, length);
  errno = ECONNREFUSED;
  return -1;
}

ssize_t sendto(int fd, const void *bytes, size_t size, int flags, const struct sockaddr *address, socklen_t length) {
  static ssize_t (*real)(int, const void *, size_t, int, const struct sockaddr *, socklen_t);
  if (!real) real = dlsym(RTLD_NEXT, "sendto");
  if (!remote("send", address)) return real(fd, bytes, size, flags, address, length);
  errno = ECONNREFUSED;
  return -1;
}
