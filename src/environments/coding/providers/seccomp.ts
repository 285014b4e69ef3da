/** The system call filter of a program: everything is refused but what CPython, Node and compiled C++ programs need. */
import { RlError } from '../../../errors.ts'

type Machine = {
  /** AUDIT_ARCH of <linux/audit.h>. */
  readonly audit: number
  /** Numbers of the calls that are allowed whatever their arguments, as ranges [first, last]. */
  readonly allowed: readonly (readonly [number, number])[]
  /** Numbers of the calls whose arguments decide. */
  readonly clone: number
  readonly clone3: number
  readonly mmap: number
  readonly socket: readonly number[]
  readonly sigaction: number
  readonly prctl: number
  readonly ioctl: number
  readonly setrlimit: number
  readonly prlimit: number
}

/** Alike on all machines since 5.1: pidfd_open, close_range, openat2, faccessat2, epoll_pwait2, futex_waitv, fchmodat2. */
const NEW_CALLS = [434, [436, 437], 439, 441, 449, 452] as const

/** A number or a range as a range. */
const ranges = (...list: readonly (number | readonly [number, number])[]): [number, number][] =>
  list.map((one): [number, number] => (typeof one === 'number' ? [one, one] : [one[0], one[1]]))

/**
 * Left out among others: keyrings, ptrace, process_vm_*, io_uring, bpf, perf, userfaultfd, memfd_create, namespaces, mounts,
 * System V and POSIX queues, extended attributes, mlock, sync, scheduling classes, inotify, users and groups, seccomp itself.
 */
const MACHINES: Readonly<Record<string, Machine>> = {
  x64: {
    audit: 0xc000003e,
    allowed: ranges(
      [0, 8], // read write open close stat fstat lstat poll lseek
      [10, 12], // mprotect munmap brk
      [14, 15], // rt_sigprocmask rt_sigreturn
      [17, 28], // pread64 pwrite64 readv writev access pipe select sched_yield mremap msync mincore, not shmget (29)
      [32, 40], // dup dup2 pause nanosleep getitimer alarm setitimer getpid sendfile
      [42, 52], // connect accept sendto recvfrom sendmsg recvmsg shutdown bind listen getsockname getpeername
      [54, 55], // setsockopt getsockopt
      [57, 63], // fork vfork execve exit wait4 kill uname
      [72, 91], // fcntl to fchmod
      [95, 100], // umask gettimeofday getrlimit getrusage sysinfo times
      [102, 102],
      104,
      [107, 112], // geteuid getegid setpgid getppid getpgrp setsid
      115,
      118,
      120,
      121,
      124,
      [127, 128],
      [130, 133], // rt_sigsuspend sigaltstack utime mknod
      [137, 138],
      [140, 141],
      143,
      [145, 147],
      158, // arch_prctl
      160,
      186,
      [202, 204], // futex sched_setaffinity sched_getaffinity
      213,
      [217, 218],
      [221, 226],
      [228, 235], // clock_gettime to utimes
      247,
      [257, 259],
      261,
      [262, 271], // newfstatat to ppoll
      [273, 274],
      [280, 281],
      [283, 293], // timerfd to pipe2
      [295, 296],
      302,
      309,
      316,
      318,
      322,
      324,
      [326, 332], // copy_file_range preadv2 pwritev2 pkeys statx
      334,
      ...NEW_CALLS,
    ),
    clone: 56,
    clone3: 435,
    mmap: 9,
    socket: [41, 53],
    sigaction: 13,
    prctl: 157,
    ioctl: 16,
    setrlimit: 160,
    prlimit: 302,
  },
  arm64: {
    audit: 0xc00000b7,
    allowed: ranges(
      17,
      [19, 25], // eventfd2 epoll dup dup3 fcntl
      32,
      [33, 38], // mknodat mkdirat unlinkat symlinkat linkat renameat
      [43, 50], // statfs fstatfs truncate ftruncate fallocate faccessat chdir fchdir
      [52, 53],
      [56, 57],
      59,
      [61, 74], // getdents64 to signalfd4
      [78, 80],
      [82, 83],
      [85, 88],
      [93, 96],
      [98, 103], // futex robust lists nanosleep itimers
      [107, 111],
      [113, 115],
      [120, 126],
      [129, 137],
      [139, 141],
      148,
      150,
      [153, 158],
      160,
      [163, 166],
      [168, 169],
      [172, 179],
      [200, 212],
      [214, 216],
      221,
      223,
      [226, 227],
      [232, 233],
      242,
      [260, 261],
      276,
      278,
      281,
      283,
      [285, 291],
      293,
      ...NEW_CALLS,
    ),
    clone: 220,
    clone3: 435,
    mmap: 222,
    socket: [198, 199],
    sigaction: 134,
    prctl: 167,
    ioctl: 29,
    setrlimit: 164,
    prlimit: 261,
  },
}

const LOAD = 0x20 // BPF_LD | BPF_W | BPF_ABS
const EQUAL = 0x15 // BPF_JMP | BPF_JEQ | BPF_K
const AT_LEAST = 0x35 // BPF_JMP | BPF_JGE | BPF_K
const ANY_BIT = 0x45 // BPF_JMP | BPF_JSET | BPF_K
const AND = 0x54 // BPF_ALU | BPF_AND | BPF_K
const RETURN = 0x06

const ALLOW = 0x7fff0000
const KILL = 0x80000000
const refuse = (errno: number) => 0x00050000 | errno
const EPERM = 1
const ENOTTY = 25
const ENOSYS = 38
const EAFNOSUPPORT = 97

/** Offsets in struct seccomp_data: the call's number, the machine, and the low half of an argument. */
const NUMBER = 0
const ARCHITECTURE = 4
const argument = (i: number) => 16 + 8 * i

const NEW_NAMESPACES = 0x7e020000
const MAP_SHARED_ANONYMOUS = 0x21
const MAP_HUGE_PAGES = 0x40000
const AF_UNIX = 1
const SIGCHLD = 17
const RLIMIT_CORE = 4
/** Names of threads and of mappings, and questions. */
const PRCTL = [2, 3, 15, 16, 21, 23, 38, 39, 0x53564d41]
/** TCGETS, TIOCGPGRP, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX. */
const IOCTL = [0x5401, 0x540f, 0x5413, 0x541b, 0x5421, 0x5450, 0x5451]

type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, operand: number]

/** The filter as an array of struct sock_filter. Throws where the machine is not known. */
export function systemCallFilter(arch: string = process.arch): Buffer {
  const machine = MACHINES[arch]
  if (!machine)
    throw new RlError(`there is no system call filter for the machine ${arch}`, {
      code: 'coding.no-filter',
      hint: 'use another sandbox provider, e.g. pyodide',
    })
  const code: Instruction[] = [
    [LOAD, 0, 0, ARCHITECTURE],
    [EQUAL, 1, 0, machine.audit],
    [RETURN, 0, 0, KILL],
    [LOAD, 0, 0, NUMBER],
  ]
  /** Leaves the accumulator as it was for every other call. */
  const onCall = (number: number, body: readonly Instruction[]) =>
    code.push([EQUAL, 0, body.length, number], ...body)
  const oneOf = (place: number, values: readonly number[], errno: number): Instruction[] => [
    [LOAD, 0, 0, argument(place)],
    ...values.map((value, i): Instruction => [EQUAL, values.length - i, 0, value]),
    [RETURN, 0, 0, refuse(errno)],
    [RETURN, 0, 0, ALLOW],
  ]
  onCall(machine.mmap, [
    // Memory that no process shows as its own.
    [LOAD, 0, 0, argument(3)],
    [ANY_BIT, 2, 0, MAP_HUGE_PAGES],
    [AND, 0, 0, MAP_SHARED_ANONYMOUS],
    [EQUAL, 0, 1, MAP_SHARED_ANONYMOUS],
    [RETURN, 0, 0, refuse(EPERM)],
    [RETURN, 0, 0, ALLOW],
  ])
  onCall(machine.clone, [
    [LOAD, 0, 0, argument(0)],
    [ANY_BIT, 0, 1, NEW_NAMESPACES],
    [RETURN, 0, 0, refuse(EPERM)],
    [RETURN, 0, 0, ALLOW],
  ])
  // Its flags are in memory, where no filter can see them; libraries then take clone.
  onCall(machine.clone3, [[RETURN, 0, 0, refuse(ENOSYS)]])
  for (const socket of machine.socket) onCall(socket, oneOf(0, [AF_UNIX], EAFNOSUPPORT))
  // Whoever ignores SIGCHLD has children whose time nobody is told. The call seems to work and changes nothing.
  onCall(machine.sigaction, [
    [LOAD, 0, 0, argument(0)],
    [EQUAL, 0, 4, SIGCHLD],
    [LOAD, 0, 0, argument(1)],
    [EQUAL, 0, 3, 0],
    [LOAD, 0, 0, argument(1) + 4],
    [EQUAL, 0, 1, 0],
    [RETURN, 0, 0, ALLOW], // another signal, or only a question
    [RETURN, 0, 0, refuse(0)],
  ])
  // Its limit on core dumps stays 1: with 0 the host's program for them is started. The call seems to work.
  for (const [limit, place] of [
    [machine.setrlimit, 0],
    [machine.prlimit, 1],
  ])
    onCall(limit, [
      [LOAD, 0, 0, argument(place)],
      [EQUAL, 0, 5, RLIMIT_CORE],
      [LOAD, 0, 0, argument(place + 1)],
      [EQUAL, 0, 2, 0],
      [LOAD, 0, 0, argument(place + 1) + 4],
      [EQUAL, 1, 0, 0],
      [RETURN, 0, 0, refuse(0)],
      [RETURN, 0, 0, ALLOW], // another limit, or only a question
    ])
  onCall(machine.prctl, oneOf(0, PRCTL, EPERM))
  onCall(machine.ioctl, oneOf(1, IOCTL, ENOTTY))
  for (const [first, last] of machine.allowed)
    code.push([AT_LEAST, 0, 2, first], [AT_LEAST, 1, 0, last + 1], [RETURN, 0, 0, ALLOW])
  code.push([RETURN, 0, 0, refuse(EPERM)])
  return encode(code)
}

function encode(code: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(8 * code.length)
  for (const [i, [operation, ifTrue, ifFalse, operand]] of code.entries()) {
    bytes.writeUInt16LE(operation, 8 * i)
    bytes[8 * i + 2] = ifTrue
    bytes[8 * i + 3] = ifFalse
    bytes.writeUInt32LE(operand >>> 0, 8 * i + 4)
  }
  return bytes
}
