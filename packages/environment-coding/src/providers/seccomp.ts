/**
 * The system call filter of a program. It refuses everything but what CPython, Node and compiled C++ programs
 * need. It lists allowed calls and commands one by one. Kernel objects that all sandboxes share (pages,
 * locks, counters, notifications) would let one program leave a note for another. So calls that read or
 * change them are left out or have no effect.
 */
import { RlError } from 'rlanything/kit'
import { SYSTEM_CALLS, type SystemCall } from './system-calls.ts'

/** AUDIT_ARCH of <linux/audit.h>, and the place of the numbers in the table. */
const MACHINES: Readonly<Record<string, { readonly audit: number; readonly place: 0 | 1 }>> = {
  x64: { audit: 0xc000003e, place: 0 },
  arm64: { audit: 0xc00000b7, place: 1 },
}

const ALLOW = 0x7fff0000
const KILL = 0x80000000
const refuse = (errno: number) => 0x00050000 | errno
/** The call seems to work and changes nothing. */
const PRETEND = refuse(0)
const EPERM = 1
const EINVAL = 22
const ENOTTY = 25
const ENOSYS = 38
const ENOPROTOOPT = 92
const EOPNOTSUPP = 95
const EAFNOSUPPORT = 97

const AF_UNIX = 1
const SOL_SOCKET = 1
const NEW_NAMESPACES = 0x7e020000
/** A descriptor of a process, whose inode number counts the processes of the host. */
const CLONE_PIDFD = 0x1000
const MAP_SHARED_ANONYMOUS = 0x21
const MAP_HUGE_PAGES = 0x40000
const MS_ASYNC = 1
const SIGCHLD = 17
const RLIMIT_CORE = 4
const TFD_TIMER_CANCEL_ON_SET = 2

/**
 * F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC, F_SETPIPE_SZ, F_GETPIPE_SZ. Owners, signals,
 * leases, notifications, hints and seals are left out.
 */
const FCNTL = [0, 1, 2, 3, 4, 1030, 1031, 1032]
/**
 * F_SETLK, F_SETLKW, F_OFD_SETLK, F_OFD_SETLKW. A lock is on the host's own file, so other sandboxes would
 * meet it. A program is alone with its own files.
 */
const LOCKS = [6, 7, 37, 38]
/** TCGETS, TIOCGPGRP, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX. */
const IOCTL = [0x5401, 0x540f, 0x5413, 0x541b, 0x5421, 0x5450, 0x5451]
/** Commands that name threads and mappings, and commands that only ask. */
const PRCTL = [2, 3, 15, 16, 21, 23, 38, 39, 0x53564d41]
/** NORMAL, RANDOM, SEQUENTIAL, DONTNEED, FREE, REMOVE, DONTFORK, DOFORK, HUGEPAGE, NOHUGEPAGE, DONTDUMP, DODUMP, WIPEONFORK, KEEPONFORK, POPULATE, guards. */
const MADVISE = [0, 1, 2, 4, 8, 9, 10, 11, 14, 15, 16, 17, 18, 19, 22, 23, 102, 103]
const MADV_WILLNEED = 3
/** SO_REUSEADDR, SNDBUF, RCVBUF, KEEPALIVE, LINGER, RCVTIMEO, SNDTIMEO: no filters, no cookies, no credentials by which a name is given. */
const SET_SOCKET = [2, 7, 8, 9, 13, 20, 21, 66, 67]
/** And SO_TYPE, ERROR, PEERCRED, ACCEPTCONN, PROTOCOL, DOMAIN. */
const GET_SOCKET = [...SET_SOCKET, 3, 4, 17, 30, 38, 39]
/** An address of this length has no name. The kernel would name it from a counter that all share. */
const NO_NAME = 2

type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, operand: number]

const LOAD = 0x20 // BPF_LD | BPF_W | BPF_ABS
const EQUAL = 0x15 // BPF_JMP | BPF_JEQ | BPF_K
const ABOVE = 0x25 // BPF_JMP | BPF_JGT | BPF_K
const AT_LEAST = 0x35 // BPF_JMP | BPF_JGE | BPF_K
const ANY_BIT = 0x45 // BPF_JMP | BPF_JSET | BPF_K
const AND = 0x54 // BPF_ALU | BPF_AND | BPF_K
const RETURN = 0x06

/** Offsets in struct seccomp_data: the call's number, the machine, and the low half of an argument. */
const NUMBER = 0
const ARCHITECTURE = 4
const argument = (i: number) => 16 + 8 * i

const always = (answer: number): Instruction[] => [[RETURN, 0, 0, answer]]

/** Allows listed values of an argument. Any other value is an error. */
function oneOf(place: number, values: readonly number[], errno: number, pretended: readonly number[] = []) {
  const all = [...values, ...pretended]
  return [
    [LOAD, 0, 0, argument(place)],
    ...all.map((value, i): Instruction => [EQUAL, all.length - i + (i < values.length ? 1 : 0), 0, value]),
    [RETURN, 0, 0, refuse(errno)],
    [RETURN, 0, 0, PRETEND],
    [RETURN, 0, 0, ALLOW],
  ] satisfies Instruction[]
}

/** Allows an argument without these bits. Any of the bits is an error. */
const noneOf = (place: number, bits: number, errno: number): Instruction[] => [
  [LOAD, 0, 0, argument(place)],
  [ANY_BIT, 0, 1, bits],
  [RETURN, 0, 0, refuse(errno)],
  [RETURN, 0, 0, ALLOW],
]

const socketOption = (options: readonly number[]): Instruction[] => [
  [LOAD, 0, 0, argument(1)],
  [EQUAL, 1, 0, SOL_SOCKET],
  [RETURN, 0, 0, refuse(ENOPROTOOPT)],
  ...oneOf(2, options, ENOPROTOOPT),
]

/** The limit on core dumps stays 1: with 0 the host's program for them is started. The call seems to work. */
const limit = (place: number): Instruction[] => [
  [LOAD, 0, 0, argument(place)],
  [EQUAL, 0, 5, RLIMIT_CORE],
  [LOAD, 0, 0, argument(place + 1)],
  [EQUAL, 0, 2, 0],
  [LOAD, 0, 0, argument(place + 1) + 4],
  [EQUAL, 1, 0, 0],
  [RETURN, 0, 0, PRETEND],
  [RETURN, 0, 0, ALLOW], // another limit, or only a question
]

/**
 * Calls that depend on their arguments, and calls that have no effect. Every other call of the table is
 * allowed with any arguments.
 */
const RULES: Partial<Record<SystemCall, readonly Instruction[]>> = {
  mmap: [
    // Memory that no process shows as its own.
    [LOAD, 0, 0, argument(3)],
    [ANY_BIT, 2, 0, MAP_HUGE_PAGES],
    [AND, 0, 0, MAP_SHARED_ANONYMOUS],
    [EQUAL, 0, 1, MAP_SHARED_ANONYMOUS],
    [RETURN, 0, 0, refuse(EPERM)],
    [RETURN, 0, 0, ALLOW],
  ],
  clone: noneOf(0, NEW_NAMESPACES | CLONE_PIDFD, EPERM),
  // Their flags are in memory, and no filter can see them. Libraries then take clone and openat.
  clone3: always(refuse(ENOSYS)),
  openat2: always(refuse(ENOSYS)),
  // It tells the number of the mount, and the host keeps one count of mounts. Libraries then take fstatat.
  statx: always(refuse(ENOSYS)),
  socket: oneOf(0, [AF_UNIX], EAFNOSUPPORT),
  socketpair: oneOf(0, [AF_UNIX], EAFNOSUPPORT),
  bind: [
    [LOAD, 0, 0, argument(2)],
    [ABOVE, 1, 0, NO_NAME],
    [RETURN, 0, 0, refuse(EINVAL)],
    [RETURN, 0, 0, ALLOW],
  ],
  setsockopt: socketOption(SET_SOCKET),
  getsockopt: socketOption(GET_SOCKET),
  // If a process ignores SIGCHLD, nobody is told the time of its children.
  rt_sigaction: [
    [LOAD, 0, 0, argument(0)],
    [EQUAL, 0, 4, SIGCHLD],
    [LOAD, 0, 0, argument(1)],
    [EQUAL, 0, 3, 0],
    [LOAD, 0, 0, argument(1) + 4],
    [EQUAL, 0, 1, 0],
    [RETURN, 0, 0, ALLOW], // another signal, or only a question
    [RETURN, 0, 0, PRETEND],
  ],
  setrlimit: limit(0),
  prlimit64: limit(1),
  prctl: oneOf(0, PRCTL, EPERM),
  ioctl: oneOf(1, IOCTL, ENOTTY),
  fcntl: oneOf(1, FCNTL, EINVAL, LOCKS),
  flock: always(PRETEND),
  // A program must not change which pages of the host's files are in memory, and cannot ask for it.
  fadvise64: always(PRETEND),
  madvise: oneOf(2, MADVISE, EINVAL, [MADV_WILLNEED]),
  preadv2: noneOf(5, 0xffffffff, EOPNOTSUPP),
  pwritev2: noneOf(5, 0xffffffff, EOPNOTSUPP),
  // A program's own files are in memory. Of others these would wait for the host's disk.
  fsync: always(PRETEND),
  fdatasync: always(PRETEND),
  msync: [
    [LOAD, 0, 0, argument(2)],
    [EQUAL, 1, 0, MS_ASYNC],
    [RETURN, 0, 0, PRETEND],
    [RETURN, 0, 0, ALLOW], // tells whether there is memory
  ],
  timerfd_settime: noneOf(1, TFD_TIMER_CANCEL_ON_SET, EINVAL),
}

/** Calls since Linux 5.1, which libraries may try. The answer is that they do not exist. */
const NEW_CALLS = 424

/**
 * Returns the filter as an array of struct sock_filter. Calls outside the table are refused, among others:
 * - keyrings, ptrace, process_vm_*, io_uring, bpf, perf, userfaultfd, memfd_create, seccomp itself
 * - namespaces, mounts, System V and POSIX queues, extended attributes, inotify, fanotify, pidfds
 * - mlock, mincore, cachestat, readahead, sync, sysinfo, statfs, scheduling classes, affinity, users and
 *   groups
 *
 * @throws if the machine is not known
 */
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
  const allowed: number[] = []
  for (const [name, numbers] of Object.entries(SYSTEM_CALLS)) {
    const number = numbers[machine.place]
    if (number === null) continue
    const rule = RULES[name as SystemCall]
    // The accumulator is as it was for every other call.
    if (rule) code.push([EQUAL, 0, rule.length, number], ...rule)
    else allowed.push(number)
  }
  for (const [first, last] of runsOf(allowed))
    code.push([AT_LEAST, 0, 2, first], [AT_LEAST, 1, 0, last + 1], [RETURN, 0, 0, ALLOW])
  code.push([AT_LEAST, 0, 1, NEW_CALLS], [RETURN, 0, 0, refuse(ENOSYS)], [RETURN, 0, 0, refuse(EPERM)])
  return encode(code)
}

/** Returns runs of consecutive numbers, as [first, last]. So the filter has fewer instructions. */
function runsOf(numbers: readonly number[]): [number, number][] {
  const runs: [number, number][] = []
  for (const number of [...numbers].sort((a, b) => a - b)) {
    const run = runs.at(-1)
    if (run && run[1] + 1 === number) run[1] = number
    else runs.push([number, number])
  }
  return runs
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
