/* Calls on files in, faults out: preloaded into an engine, it makes the disk fail on command.
 *
 * Only files below FAULTS_FOLDER count. FAULTS_CONTROL is a small file that this process and the
 * test both map: the test arms it, the engine meets the fault.
 *
 * For a power loss every write and rename is remembered until it is synced. When the power goes,
 * what is not synced is written to FAULTS_CONTROL.undo.PID and the process dies, as every other
 * does that the disk is under, with its next call; the test undoes it
 * afterwards, when no thread can see or act on a half-undone file. A file is never opened here:
 * closing it again would drop the locks that SQLite holds on it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum fault { NONE, POWER_LOSS, NO_SPACE, SYNC_FAILS };
enum call { WRITE, SYNC, NAME };
enum { PATH = 512 };

struct control {
    volatile uint32_t fault; /* which one to meet */
    volatile uint32_t after; /* this many calls; 0 means never */
    volatile uint32_t seen;  /* calls since it was armed */
};

struct change {
    struct change *earlier;
    uint32_t is_rename;
    char path[PATH];
    char old_path[PATH];
    int64_t offset, length, old_size, kept;
    char *old_bytes;
};

static struct control *control;
static const char *folder;
static char undo_path[PATH];
static struct change *changes;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static ssize_t (*real_write)(int, const void *, size_t);
static ssize_t (*real_pwrite)(int, const void *, size_t, off64_t);
static int (*real_fsync)(int);
static int (*real_fdatasync)(int);
static int (*real_rename)(const char *, const char *);

__attribute__((constructor)) static void set_up(void) {
    real_write = dlsym(RTLD_NEXT, "write");
    real_pwrite = dlsym(RTLD_NEXT, "pwrite64");
    real_fsync = dlsym(RTLD_NEXT, "fsync");
    real_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
    real_rename = dlsym(RTLD_NEXT, "rename");
    folder = getenv("FAULTS_FOLDER");
    const char *name = getenv("FAULTS_CONTROL");
    int file = folder && name ? open(name, O_RDWR) : -1;
    if (file < 0) return;
    void *mapped = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (mapped == MAP_FAILED) return;
    snprintf(undo_path, sizeof undo_path, "%s.undo", name);
    control = mapped;
}

static int is_ours(const char *path) {
    size_t length = strlen(path);
    return control && !strncmp(path, folder, strlen(folder)) &&
           !(length > 4 && !strcmp(path + length - 4, "-shm")) && !strstr(path, " (deleted)");
}

static int path_of(int file, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, PATH - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    return is_ours(path);
}

static void put(int file, const void *bytes, size_t length) {
    if (real_write(file, bytes, length) != (ssize_t)length) abort();
}

static void lose_power(void) {
    char part[PATH + 32], whole[PATH + 32];
    snprintf(part, sizeof part, "%s.part.%d", undo_path, getpid());
    snprintf(whole, sizeof whole, "%s.%d", undo_path, getpid());
    int file = open(part, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    for (struct change *each = changes; each; each = each->earlier) {
        int64_t numbers[4] = {each->offset, each->length, each->old_size, each->kept};
        put(file, &each->is_rename, sizeof each->is_rename);
        put(file, each->path, PATH);
        put(file, each->old_path, PATH);
        put(file, numbers, sizeof numbers);
        put(file, each->old_bytes, each->kept);
    }
    close(file);
    real_rename(part, whole);
    kill(getpid(), SIGKILL);
    pause();
}

/* What this call must answer instead of doing its work: an errno, or 0. */
static int meet(enum call call) {
    if (!control->after || ++control->seen < control->after) return 0;
    if (control->fault == POWER_LOSS) lose_power();
    if (control->fault == NO_SPACE && call == WRITE) return ENOSPC;
    if (control->fault == SYNC_FAILS && call == SYNC) return EIO;
    return 0;
}

static struct change *remember(const char *path) {
    struct change *change = calloc(1, sizeof *change);
    strcpy(change->path, path);
    change->earlier = changes;
    return changes = change;
}

static void remember_write(int file, const char *path, off64_t offset, size_t length) {
    struct stat there;
    if (control->fault != POWER_LOSS || fstat(file, &there)) return;
    struct change *change = remember(path);
    change->offset = offset;
    change->length = length;
    change->old_size = there.st_size;
    if (offset >= there.st_size) return;
    off64_t end = offset + (off64_t)length < there.st_size ? offset + (off64_t)length : there.st_size;
    change->old_bytes = malloc(end - offset);
    ssize_t kept = pread(file, change->old_bytes, end - offset, offset);
    change->kept = kept > 0 ? kept : 0;
}

static void remember_rename(const char *from, const char *to) {
    if (control->fault != POWER_LOSS) return;
    for (struct change *each = changes; each; each = each->earlier)
        if (!each->is_rename && !strcmp(each->path, from)) strcpy(each->path, to);
    struct change *change = remember(to);
    change->is_rename = 1;
    strcpy(change->old_path, from);
}

static int is_in(const char *path, const char *directory) {
    size_t length = strlen(directory);
    return !strncmp(path, directory, length) && path[length] == '/' &&
           !strchr(path + length + 1, '/');
}

/* A synced file keeps its writes, a synced folder its names. */
static void forget(const char *path) {
    struct change **place = &changes;
    while (*place) {
        struct change *each = *place;
        if (each->is_rename ? is_in(each->path, path) : !strcmp(each->path, path)) {
            *place = each->earlier;
            free(each->old_bytes);
            free(each);
        } else {
            place = &each->earlier;
        }
    }
}

ssize_t write(int file, const void *bytes, size_t length) {
    char path[PATH];
    if (file < 3 || !path_of(file, path)) return real_write(file, bytes, length);
    pthread_mutex_lock(&lock);
    int failed = meet(WRITE);
    ssize_t written = -1;
    if (!failed) {
        remember_write(file, path, lseek(file, 0, SEEK_CUR), length);
        written = real_write(file, bytes, length);
        failed = errno;
    }
    pthread_mutex_unlock(&lock);
    if (written < 0) errno = failed;
    return written;
}

ssize_t pwrite64(int file, const void *bytes, size_t length, off64_t offset) {
    char path[PATH];
    if (!path_of(file, path)) return real_pwrite(file, bytes, length, offset);
    pthread_mutex_lock(&lock);
    int failed = meet(WRITE);
    ssize_t written = -1;
    if (!failed) {
        remember_write(file, path, offset, length);
        written = real_pwrite(file, bytes, length, offset);
        failed = errno;
    }
    pthread_mutex_unlock(&lock);
    if (written < 0) errno = failed;
    return written;
}

ssize_t pwrite(int file, const void *bytes, size_t length, off_t offset) {
    return pwrite64(file, bytes, length, offset);
}

static int synced(int file, int (*sync)(int)) {
    char path[PATH];
    if (!path_of(file, path)) return sync(file);
    pthread_mutex_lock(&lock);
    int failed = meet(SYNC);
    int result = -1;
    if (!failed) {
        result = sync(file);
        failed = errno;
        if (!result) forget(path);
    }
    pthread_mutex_unlock(&lock);
    if (result < 0) errno = failed;
    return result;
}

int fsync(int file) { return synced(file, real_fsync); }

int fdatasync(int file) { return synced(file, real_fdatasync); }

int rename(const char *from, const char *to) {
    if (!is_ours(to)) return real_rename(from, to);
    pthread_mutex_lock(&lock);
    meet(NAME);
    int result = real_rename(from, to);
    int failed = errno;
    if (!result) remember_rename(from, to);
    pthread_mutex_unlock(&lock);
    if (result < 0) errno = failed;
    return result;
}
