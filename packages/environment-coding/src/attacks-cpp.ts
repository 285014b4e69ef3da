/** Hostile programs in C++ (see attacks.ts). Some attack while they run, others while they are compiled. */
import type { Attack } from './attack.ts'

const HEAD = `#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#define ESCAPED() do { puts("ESCAPED"); fflush(stdout); } while (0)
`
const main = (body: string) => `${HEAD}int main() {\n${body}\n}\n`

const PROGRAMS: readonly (readonly [name: string, what: string, program: string])[] = [
  [
    'call-fuzz',
    'makes every system call, each in a child of its own, with nonsense for arguments',
    main(
      'for (long number = 0; number < 470; number++) { if (number == SYS_exit_group || number == SYS_fork) continue; pid_t child = fork(); if (child == 0) { alarm(1); for (long value : {0L, -1L, 1L, 4096L}) syscall(number, value, value, value, value, value, value); _exit(0); } if (child > 0 && number % 8 == 7) while (waitpid(-1, nullptr, WNOHANG) > 0); }',
    ),
  ],
  [
    'other-interfaces',
    'calls the kernel by the interfaces of other machines',
    main(
      '#if defined(__x86_64__)\nlong made[] = {syscall(SYS_keyctl | 0x40000000, 0, -3, 1), syscall(521, 0), syscall(SYS_unshare | 0x40000000, 0x10000000), syscall(SYS_mount | 0x40000000, "x", "/tmp", "tmpfs", 0, 0)};\nfor (long one : made) if (one >= 0) ESCAPED();\nif (fork() == 0) { long result; asm volatile("int $0x80" : "=a"(result) : "a"(5L), "b"(0L), "c"(0L), "d"(0L) : "memory"); if (result != -14) ESCAPED(); _exit(0); }\nwait(nullptr);\n#endif',
    ),
  ],
  [
    'privileges',
    'mounts, changes its root, makes namespaces, traces, takes users and keys',
    main(
      'long made[] = {syscall(SYS_unshare, 0x10000000), syscall(SYS_unshare, 0x40000000), syscall(SYS_mount, "none", "/tmp", "tmpfs", 0, 0), syscall(SYS_pivot_root, "/tmp", "/tmp"), syscall(SYS_chroot, "/tmp"), syscall(SYS_setresuid, 0, 0, 0), syscall(SYS_setgroups, 0, 0), syscall(SYS_keyctl, 0, -3, 1), syscall(SYS_add_key, "user", "x", "y", 1, -4), syscall(SYS_ptrace, 0, 0, 0, 0), syscall(SYS_memfd_create, "x", 0), syscall(SYS_io_uring_setup, 1, calloc(1, 256)), syscall(SYS_bpf, 0, 0, 0), syscall(SYS_perf_event_open, 0, 0, 0, 0, 0), syscall(SYS_userfaultfd, 0), syscall(SYS_socket, 2, 1, 0), syscall(SYS_socket, 40, 1, 0), syscall(SYS_shmget, 0, 4096, 01600)};\nfor (long one : made) if (one >= 0) ESCAPED();',
    ),
  ],
  [
    'clone-tricks',
    'makes children with flags that hide them from whoever waits',
    main(
      'for (unsigned long flags : {0x8000UL, 0x8000UL | SIGCHLD, 0x00800000UL, 0x20000000UL, 0x02000000UL, 0x7e020000UL}) { long child = syscall(SYS_clone, flags, 0, 0, 0, 0); if (child == 0) for (;;); if (child > 0 && (flags & 0x7e020000UL)) ESCAPED(); }\nfor (;;) pause();',
    ),
  ],
  [
    'reserves-and-touches',
    'takes memory in every way that there is',
    main(
      'for (int way = 0;; way++) { size_t size = 1 << 24; void* block = way % 3 == 0 ? malloc(size) : way % 3 == 1 ? mmap(nullptr, size, 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) : sbrk(size); if (block && block != (void*)-1) memset(block, way + 1, size); }',
    ),
  ],
  [
    'threads',
    'starts threads that spin',
    main(
      'for (;;) { pthread_t thread; pthread_create(&thread, nullptr, [](void*) -> void* { for (;;); }, nullptr); }',
    ),
  ],
  [
    'deep-stack',
    'overflows its stack and goes on in the handler of the fault',
    `${HEAD}int deep(int n) { volatile char frame[4096]; frame[0] = n; return deep(n + 1) + frame[0]; }
int main() {
  stack_t other{}; other.ss_sp = malloc(1 << 16); other.ss_size = 1 << 16; sigaltstack(&other, nullptr);
  struct sigaction action{}; action.sa_handler = [](int) { for (;;); }; action.sa_flags = SA_ONSTACK; sigaction(SIGSEGV, &action, nullptr);
  return deep(0);
}
`,
  ],
  [
    'rewrites-itself',
    'writes to its own file and executes what it wrote, for ever',
    main(
      'struct stat info; if (getenv("AGAIN") && atoi(getenv("AGAIN")) > 500) for (;;); int fd = open("/tmp/main", O_RDWR); char number[16]; snprintf(number, sizeof number, "%d", getenv("AGAIN") ? atoi(getenv("AGAIN")) + 1 : 1); setenv("AGAIN", number, 1); stat("/tmp/main", &info); symlink("/tmp/main", "/tmp/other"); chmod("/tmp/main", 07777); execl("/tmp/other", "other", nullptr); if (fd >= 0) write(fd, "x", 1);',
    ),
  ],
  [
    'shells',
    'executes programs of the system',
    main(
      'for (const char* file : {"/bin/sh", "/bin/bash", "/usr/bin/perl", "/usr/bin/g++", "/usr/bin/as", "/opt/node"}) if (access(file, F_OK) == 0) ESCAPED();\nif (system("echo ESCAPED") == 0) ESCAPED();',
    ),
  ],
  [
    'reads-the-host',
    'opens files of the host by many ways',
    main(
      'for (const char* file : {"/etc/passwd", "/proc/self/mem", "/proc/1/environ", "/proc/self/root/etc/passwd", "/usr/lib/os-release", "/usr/src", "/usr/include", "/usr/local", "HOST_HOME/.bashrc", "/sys/kernel", "/dev/kmsg", "/dev/mem", "/dev/fuse", "/dev/ptmx"}) if (open(file, O_RDONLY) >= 0 || open(file, O_PATH) >= 0) { puts(file); ESCAPED(); }\nfor (int fd = 3; fd < 4096; fd++) if (fcntl(fd, F_GETFD) >= 0) ESCAPED();',
    ),
  ],
  [
    'ends-everything',
    'sends every signal to all that it can name, and stops itself',
    main(
      'for (int number = 1; number < 65; number++) for (int pid = -8; pid < 64; pid++) if (pid != getpid() && pid != 0 && pid != -1) kill(pid, number);\nkill(-1, SIGKILL); raise(SIGSTOP); for (;;) pause();',
    ),
  ],
  [
    'deaf-and-busy',
    'blocks every signal, lowers the limits of others and raises its own',
    main(
      'sigset_t all; sigfillset(&all); sigprocmask(SIG_BLOCK, &all, nullptr); struct rlimit none{3, 3}, most{RLIM_INFINITY, RLIM_INFINITY}; for (int pid = 0; pid < 64; pid++) if (pid != getpid()) for (int what = 0; what < 16; what++) if (pid > 0) syscall(SYS_prlimit64, pid, what, &none, nullptr); for (int what = 0; what < 16; what++) if (what != RLIMIT_STACK && what != RLIMIT_AS && what != RLIMIT_DATA) { struct rlimit now; getrlimit((__rlimit_resource)what, &now); if (now.rlim_max != RLIM_INFINITY) { setrlimit((__rlimit_resource)what, &most); getrlimit((__rlimit_resource)what, &now); if (now.rlim_max == RLIM_INFINITY) ESCAPED(); } } for (int nice = -20; nice < 20; nice++) setpriority(PRIO_USER, 0, nice); for (;;);',
    ),
  ],
  [
    'floods',
    'writes to its output and its errors from many processes',
    main(
      'for (int i = 0; i < 4; i++) fork(); static char block[1 << 16]; memset(block, 120, sizeof block); for (;;) { write(1, block, sizeof block); write(2, block, sizeof block); }',
    ),
  ],
  [
    'fills-the-disk',
    'makes files, links, folders and holes until nothing goes any more',
    main(
      'for (int i = 0;; i++) { char name[64]; snprintf(name, sizeof name, "/tmp/f%d", i); int fd = open(name, O_CREAT | O_RDWR, 0600); if (fd >= 0) { fallocate(fd, 0, 0, 1 << 20); ftruncate(fd, 1L << 40); write(fd, name, 64); close(fd); } snprintf(name, sizeof name, "/tmp/d%d", i); mkdir(name, 0700); link("/tmp/main", name); mkfifo(name, 0600); }',
    ),
  ],
  [
    'leaves-a-note',
    'looks for what an earlier test left, and leaves something',
    main(
      'for (const char* file : {"/tmp/note", "/dev/shm/note"}) { if (access(file, F_OK) == 0) ESCAPED(); close(open(file, O_CREAT | O_WRONLY, 0600)); }\nif (fork() == 0) { setsid(); if (fork() == 0) for (;;) { close(open("/tmp/note", O_CREAT | O_WRONLY, 0600)); } _exit(0); }',
    ),
  ],
  [
    'compile-host-files',
    'has the compiler put files of the host into the program',
    `#if __has_include("/etc/passwd") || __has_include("/etc/hostname") || __has_include("/usr/lib/os-release") || __has_include("/proc/self/environ") || __has_include("/usr/share/common-licenses/GPL-3") || __has_include("HOST_HOME/.bashrc")
#include <cstdio>
int main() { puts("ESCAPED"); }
#else
int main() {}
#endif
`,
  ],
  [
    'assemble-host-files',
    'has the assembler put a file of the host into the program',
    `#include <cstdio>
asm(".section .rodata\\n.globl stolen\\nstolen: .incbin \\"/usr/lib/os-release\\"\\n.byte 0\\n.previous");
extern "C" const char stolen[];
int main() { puts("ESCAPED"); puts(stolen); }
`,
  ],
  [
    'compile-devices',
    'has the compiler read devices that never end',
    '#include "/dev/zero"\n#include "/dev/urandom"\n#include "/dev/stdin"\nint main() {}\n',
  ],
  [
    'page-tables',
    'has the kernel keep tables of a memory that it never writes to',
    main(
      'size_t size = 1ul << 36; for (int i = 0; i < 4; i++) { char *memory = (char *)mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0); if (memory == MAP_FAILED) return 1; madvise(memory, size, MADV_NOHUGEPAGE); for (size_t at = 0; at < size; at += 1ul << 21) (void)*(volatile char *)(memory + at); } ESCAPED();',
    ),
  ],
  [
    'endless-recursion',
    'recurs until its stack has taken what there is',
    main(
      'struct Deep { static int fill(volatile char *above) { volatile char room[4096]; room[0] = *above; return fill(room) + room[0]; } }; char first = 1; return Deep::fill(&first);',
    ),
  ],
  [
    'compile-templates',
    'has the compiler expand templates without end, wide and deep',
    'template <int A, int B> struct T { static constexpr long value = T<A - 1, B * 2>::value + T<A - 1, B * 2 + 1>::value; };\ntemplate <int B> struct T<0, B> { static constexpr long value = B; };\nint main() { return T<24, 1>::value & 1; }\n',
  ],
  [
    'compile-constants',
    'has the compiler compute for ever',
    'constexpr unsigned long spin() { unsigned long x = 1; for (unsigned long i = 0; i < 1000000000000ul; i++) x = x * 31 + i; return x; }\nconstexpr unsigned long value = spin();\nint main() { return value & 1; }\n',
  ],
  [
    'compile-macros',
    'has the preprocessor double its text forty times',
    `#define A0 1,\n${Array.from({ length: 40 }, (_, i) => `#define A${i + 1} A${i} A${i}`).join('\n')}\nint all[] = { A40 };\nint main() {}\n`,
  ],
  [
    'compile-large',
    'makes a program of two gigabytes',
    'char filled[2000000000] = {1};\nasm(".section .more,\\"a\\"\\n.fill 1000000000, 1, 7\\n.previous");\nint main() { return filled[1]; }\n',
  ],
  [
    'compile-repeat',
    'has the assembler repeat without end',
    'asm(".rept 1000000000\\n.rept 1000000\\n.byte 1\\n.endr\\n.endr");\nint main() {}\n',
  ],
  [
    'compile-includes-itself',
    'includes itself many times at each level',
    '#include __FILE__\n#include __FILE__\n#include "/tmp/main.cpp"\nint main() {}\n',
  ],
  [
    'own-loader',
    'names itself as the program that loads it',
    '__attribute__((section(".interp"))) const char loader[] = "/tmp/main";\nint main() {}\n',
  ],
  [
    'links-nothing',
    'replaces the start of a program and its libraries',
    '#include <unistd.h>\nextern "C" ssize_t write(int, const void*, size_t) { return -1; }\nextern "C" int __libc_start_main() { _exit(0); }\nextern "C" void _exit(int) { for (;;); }\n__attribute__((constructor)) void first() { for (;;); }\nint main() {}\n',
  ],
]

export const CPP_ATTACKS: readonly Attack[] = PROGRAMS.map(([name, what, program]) => ({
  name: `cpp-${name}`,
  what,
  program,
  language: 'cpp',
}))
