/* Fails at the n-th call that writes: before it, after half of it, after it, or with an error. See every_write.py. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum { BEFORE = 1, HALF, AFTER, ERROR };
static long seen, wanted = -1;
static int kind, ignored = -1;

void arm(long number, int how, int except) { seen = 0; wanted = number; kind = how; ignored = except; }
long calls(void) { return seen; }

/* Whether this is the call that fails. */
static int hit(int fd) {
  if (wanted < 0 || (fd >= 0 && fd <= 2) || (fd >= 0 && fd == ignored)) return 0;
  return ++seen == wanted;
}

#define REAL(name) static __typeof__(&name) real; if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)
#define FAIL(fd, whole, half, code) do { \
    if (!hit(fd)) return whole; \
    if (kind == ERROR) { errno = code; return -1; } \
    if (kind == HALF) (void)half; \
    if (kind == AFTER) (void)whole; \
    _exit(77); \
  } while (0)

ssize_t write(int fd, const void *b, size_t n) { REAL(write); FAIL(fd, real(fd, b, n), real(fd, b, n / 2), ENOSPC); }
ssize_t pwrite(int fd, const void *b, size_t n, off_t o) { REAL(pwrite); FAIL(fd, real(fd, b, n, o), real(fd, b, n / 2, o), ENOSPC); }
ssize_t pwrite64(int fd, const void *b, size_t n, off64_t o) { REAL(pwrite64); FAIL(fd, real(fd, b, n, o), real(fd, b, n / 2, o), ENOSPC); }
ssize_t writev(int fd, const struct iovec *v, int n) { REAL(writev); FAIL(fd, real(fd, v, n), real(fd, v, n / 2), ENOSPC); }
ssize_t send(int fd, const void *b, size_t n, int f) { REAL(send); FAIL(fd, real(fd, b, n, f), real(fd, b, n / 2, f), ECONNRESET); }
int ftruncate(int fd, off_t n) { REAL(ftruncate); FAIL(fd, real(fd, n), 0, EIO); }
int ftruncate64(int fd, off64_t n) { REAL(ftruncate64); FAIL(fd, real(fd, n), 0, EIO); }
int fsync(int fd) { REAL(fsync); FAIL(fd, real(fd), 0, EIO); }
int fdatasync(int fd) { REAL(fdatasync); FAIL(fd, real(fd), 0, EIO); }
int unlink(const char *p) { REAL(unlink); FAIL(-1, real(p), 0, EIO); }
int rename(const char *a, const char *b);
int rename(const char *a, const char *b) { REAL(rename); FAIL(-1, real(a, b), 0, EIO); }
int link(const char *a, const char *b) { REAL(link); FAIL(-1, real(a, b), 0, EIO); }
