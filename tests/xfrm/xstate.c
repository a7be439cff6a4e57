/* Registers of CPUs with AMX for user-mode Linux 6.1, as a library that is loaded before it.
 *
 * Its buffer for a process's extended state has 2,696 bytes. Reading more than that is cut short by
 * the host's kernel, but writing less than the whole state (11,008 bytes with AMX) is refused with
 * EFAULT, and the guest panics. Here the rest of the state goes back as it was.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static long raw(long request, long process, void *address, void *data)
{
    return syscall(SYS_ptrace, request, process, address, data);
}

long ptrace(enum __ptrace_request request, ...)
{
    va_list more;
    va_start(more, request);
    const long process = va_arg(more, int);
    void *const address = va_arg(more, void *);
    void *data = va_arg(more, void *);
    va_end(more);

    long word;
    if (request == PTRACE_PEEKTEXT || request == PTRACE_PEEKDATA || request == PTRACE_PEEKUSER) {
        if (raw(request, process, address, &word) < 0)
            return -1; /* as glibc's: the kernel puts the word where the caller says */
        errno = 0;
        return word;
    }
    static __thread char state[65536] __attribute__((aligned(64)));
    struct iovec whole = {state, sizeof(state)};
    if (request == PTRACE_SETREGSET && (unsigned long)address == NT_X86_XSTATE) {
        const struct iovec *given = data;
        if (raw(PTRACE_GETREGSET, process, address, &whole) == 0 && given->iov_len < whole.iov_len) {
            memcpy(state, given->iov_base, given->iov_len);
            data = &whole;
        }
    }
    return raw(request, process, address, data);
}
