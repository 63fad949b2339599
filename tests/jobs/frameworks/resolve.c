/* Preloaded into processes that stand for pods: every host name means 127.0.0.1, as if they shared one machine. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **result) {
  static int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
  struct in6_addr parsed;
  if (!real) *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
  if (node && inet_pton(AF_INET, node, &parsed) != 1 && inet_pton(AF_INET6, node, &parsed) != 1) node = "127.0.0.1";
  return real(node, service, hints, result);
}
