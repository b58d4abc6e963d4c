/* A library that is loaded into `forage` and tries, from inside of it, what the kernel's wall is to refuse.
 *
 * It tries when a thread first writes to stdout, and when a thread other than the first ends: both come after the
 * command has done its work. Each attempt is a line of the report: the thread's name, what was tried, and the number of
 * the error, 0 for none. Where the report goes and what is tried is said by variables that begin with PROBE_.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int report = -1;
static _Thread_local int has_tried;

static void tell(const char *what, int failed) {
    int error = failed ? errno : 0;
    char thread[17] = "";
    prctl(PR_GET_NAME, thread);
    for (char *c = thread; *c; c++) {
        if (*c == ' ') *c = '-';
    }
    dprintf(report, "%s %s %d\n", thread, what, error);
}

/* Files: NAME=PATH, one per line. */
static void try_files(void) {
    char files[8192];
    const char *named = getenv("PROBE_FILES");
    snprintf(files, sizeof files, "%s", named ? named : "");
    char *rest = files, *line;
    while ((line = strsep(&rest, "\n"))) {
        char *path = strchr(line, '=');
        if (!path) continue;
        *path++ = 0;
        int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        tell(line, file < 0);
        if (file >= 0) close(file);
    }
    const char *made = getenv("PROBE_MADE");
    if (made) {
        int file = open(made, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        tell("making", file < 0);
        if (file >= 0) {
            close(file);
            unlink(made);
        }
    }
}

static void try_connection(const char *what, const struct sockaddr *address, socklen_t length) {
    int connection = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    tell(what, connect(connection, address, length) < 0);
    close(connection);
}

static void try_all(void) {
    if (report < 0 || has_tried++) return;
    try_files();
    const char *port = getenv("PROBE_TCP");
    if (port) {
        struct sockaddr_in tcp = {.sin_family = AF_INET, .sin_port = htons(atoi(port))};
        tcp.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        try_connection("connecting", (struct sockaddr *)&tcp, sizeof tcp);
        struct sockaddr_in any = {.sin_family = AF_INET};
        int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        tell("listening", bind(listening, (struct sockaddr *)&any, sizeof any) < 0);
        close(listening);
    }
    const char *name = getenv("PROBE_ABSTRACT");
    if (name) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        strncpy(address.sun_path + 1, name, sizeof address.sun_path - 2);
        try_connection("abstract", (struct sockaddr *)&address,
                       offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
    }
    const char *process = getenv("PROBE_PROCESS");
    if (process) tell("signal", kill(atoi(process), 0) < 0);
}

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("PROBE_REPORT");
    if (path) report = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

ssize_t write(int handle, const void *bytes, size_t length) {
    static ssize_t (*real)(int, const void *, size_t);
    if (!real) real = dlsym(RTLD_NEXT, "write");
    if (handle == STDOUT_FILENO) try_all();
    return real(handle, bytes, length);
}

struct start {
    void *(*run)(void *);
    void *argument;
};

static void *run(void *started) {
    struct start start = *(struct start *)started;
    free(started);
    void *result = start.run(start.argument);
    try_all();
    return result;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start_run)(void *), void *argument) {
    static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (!real) real = dlsym(RTLD_NEXT, "pthread_create");
    struct start *start = malloc(sizeof *start);
    start->run = start_run;
    start->argument = argument;
    return real(thread, attributes, run, start);
}
