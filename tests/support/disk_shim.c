/* A disk that fails when it is told to: preloaded into Python and Java, it counts their calls to the disk.
 *
 * DISK_SHIM_COUNTER is a file of two numbers: the calls of fsync, fdatasync and msync, and these with all that
 * write, of files below DISK_SHIM_ROOT but for logs, by all processes together. From the call DISK_SHIM_AT on, of
 * the first number or with DISK_SHIM_CALLS=all of the second, DISK_SHIM_ACT happens: `kill` (once) kills the
 * caller, EIO fails all calls, ENOSPC those that write. `sleep` makes each fsync take DISK_SHIM_MS, from the first
 * on. The file DISK_SHIM_HIT says which call it was.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum act { NONE, KILL, FAIL, FULL, SLEEP };

static enum act act;
static long at, milliseconds;
static int counts_writes;
static const char *root, *hit;
static volatile long *counter;

__attribute__((constructor)) static void begin(void) {
    const char *name = getenv("DISK_SHIM_ACT"), *path = getenv("DISK_SHIM_COUNTER");
    root = getenv("DISK_SHIM_ROOT");
    hit = getenv("DISK_SHIM_HIT");
    if (!name || !path || !root || !hit) return;
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) return;
    void *page = mmap(NULL, 2 * sizeof(long), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (page == MAP_FAILED) return;
    act = !strcmp(name, "kill")     ? KILL
          : !strcmp(name, "EIO")    ? FAIL
          : !strcmp(name, "ENOSPC") ? FULL
          : !strcmp(name, "sleep")  ? SLEEP
                                    : NONE;
    at = atol(getenv("DISK_SHIM_AT"));
    milliseconds = atol(getenv("DISK_SHIM_MS"));
    counts_writes = !strcmp(getenv("DISK_SHIM_CALLS"), "all");
    counter = page;
}

static void note(const char *call, const char *path) {
    char line[PATH_MAX + 64];
    int length = snprintf(line, sizeof line, "%s of %s by %s\n", call, path, program_invocation_short_name);
    int file = open(hit, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (file < 0) return;
    syscall(SYS_write, file, line, length);
    close(file);
}

/* Count a call; gives the error with which it fails, or 0. */
static int met(int file, const char *call, int writes) {
    if (!counter) return 0;
    int kept = errno;
    char link[64], path[PATH_MAX] = "(mapped)";
    if (file >= 0) {
        snprintf(link, sizeof link, "/proc/self/fd/%d", file);
        ssize_t length = readlink(link, path, sizeof path - 1);
        errno = kept;
        if (length < 0) return 0;
        path[length] = 0;
        size_t below = strlen(root);
        if (strncmp(path, root, below) || path[below] != '/') return 0;
    }
    if (act == SLEEP && !writes) usleep(milliseconds * 1000);
    long number = 0;
    if (!strstr(path, "/logs/")) {
        long all = __sync_add_and_fetch(&counter[1], 1), syncs = writes ? 0 : __sync_add_and_fetch(&counter[0], 1);
        number = counts_writes ? all : syncs;
    }
    if (!at) return 0;
    if (number == at) {
        note(call, path);
        if (act == KILL) kill(getpid(), SIGKILL);
        errno = kept;
    }
    if (counter[counts_writes] < at) return 0;
    return act == FAIL ? EIO : act == FULL && writes ? ENOSPC : 0;
}

#define ORIGINAL(result, name, ...)                                  \
    static result (*original)(__VA_ARGS__);                          \
    if (!original) *(void **)&original = dlsym(RTLD_NEXT, #name)

#define REPLACED(result, name, writes, parameters, arguments, ...)   \
    result name parameters {                                         \
        ORIGINAL(result, name, __VA_ARGS__);                         \
        int error = met(file, #name, writes);                        \
        if (!error) return original arguments;                       \
        errno = error;                                               \
        return -1;                                                   \
    }

REPLACED(int, fsync, 0, (int file), (file), int)
REPLACED(int, fdatasync, 0, (int file), (file), int)
REPLACED(ssize_t, write, 1, (int file, const void *data, size_t size), (file, data, size), int, const void *, size_t)
REPLACED(ssize_t, pwrite, 1, (int file, const void *data, size_t size, off_t place), (file, data, size, place),
         int, const void *, size_t, off_t)
REPLACED(ssize_t, pwrite64, 1, (int file, const void *data, size_t size, off64_t place), (file, data, size, place),
         int, const void *, size_t, off64_t)
REPLACED(ssize_t, writev, 1, (int file, const struct iovec *parts, int count), (file, parts, count), int,
         const struct iovec *, int)
REPLACED(ssize_t, pwritev, 1, (int file, const struct iovec *parts, int count, off_t place),
         (file, parts, count, place), int, const struct iovec *, int, off_t)
REPLACED(ssize_t, pwritev64, 1, (int file, const struct iovec *parts, int count, off64_t place),
         (file, parts, count, place), int, const struct iovec *, int, off64_t)
REPLACED(int, ftruncate, 1, (int file, off_t size), (file, size), int, off_t)
REPLACED(int, ftruncate64, 1, (int file, off64_t size), (file, size), int, off64_t)

int msync(void *start, size_t size, int flags) {
    ORIGINAL(int, msync, void *, size_t, int);
    int error = met(-1, "msync", 0);
    if (!error) return original(start, size, flags);
    errno = error;
    return -1;
}
