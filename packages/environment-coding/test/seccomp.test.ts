/** The filter, decided call by call on both machines by a reader of its instructions; and its numbers by the headers of this machine. */
import { existsSync, readFileSync } from 'node:fs'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { systemCallFilter } from '../src/providers/seccomp.ts'
import { SYSTEM_CALLS, type SystemCall } from '../src/providers/system-calls.ts'

const MACHINES = [
  { arch: 'x64', audit: 0xc000003e, place: 0 },
  { arch: 'arm64', audit: 0xc00000b7, place: 1 },
] as const

/** What the filter answers: `allow`, `kill`, or an errno (0: the call has no effect). */
function answer(filter: Buffer, audit: number, call: number, args: readonly number[]): string | number {
  const data = Buffer.alloc(64)
  data.writeUInt32LE(call >>> 0, 0)
  data.writeUInt32LE(audit, 4)
  for (const [i, arg] of args.entries()) data.writeBigUInt64LE(BigInt.asUintN(64, BigInt(arg)), 16 + 8 * i)
  let a = 0
  for (let at = 0; ; at++) {
    const operation = filter.readUInt16LE(8 * at)
    const [ifTrue, ifFalse, k] = [filter[8 * at + 2], filter[8 * at + 3], filter.readUInt32LE(8 * at + 4)]
    const jump = (holds: boolean) => {
      at += holds ? ifTrue : ifFalse
    }
    if (operation === 0x20) a = data.readUInt32LE(k)
    else if (operation === 0x15) jump(a === k)
    else if (operation === 0x25) jump(a > k)
    else if (operation === 0x35) jump(a >= k)
    else if (operation === 0x45) jump((a & k) !== 0)
    else if (operation === 0x54) a = (a & k) >>> 0
    else return k === 0x7fff0000 ? 'allow' : k === 0x80000000 ? 'kill' : k & 0xffff
  }
}

const TABLE: readonly (readonly [SystemCall, args: readonly number[], answer: string | number])[] = [
  ['read', [], 'allow'],
  ['futex', [], 'allow'],
  ...[0, 1, 2, 3, 4, 1030, 1031, 1032].map((command) => ['fcntl', [3, command], 'allow'] as const),
  ...[6, 7, 37, 38].map((command) => ['fcntl', [3, command], 0] as const),
  ...[5, 8, 9, 10, 11, 15, 16, 17, 36, 1024, 1025, 1026, 1027, 1028, 1029, 1033, 1034, 1035, 1036, 1038].map(
    (command) => ['fcntl', [3, command], 22] as const,
  ),
  ...([0, 4, 8, 10, 14] as const).map((advice) => ['madvise', [0, 4096, advice], 'allow'] as const),
  ...([12, 13, 20, 21, 25, 100] as const).map((advice) => ['madvise', [0, 4096, advice], 22] as const),
  ['madvise', [0, 4096, 3], 0],
  ...(['flock', 'fadvise64', 'fsync', 'fdatasync'] as const).map((name) => [name, [3, 2], 0] as const),
  ...(['preadv2', 'pwritev2'] as const).flatMap((name) => [
    [name, [3, 0, 1, 0, 0, 0], 'allow'] as const,
    [name, [3, 0, 1, 0, 0, 8], 95] as const,
    [name, [3, 0, 1, 0, 0, 0x80000000], 95] as const,
  ]),
  ['msync', [0, 4096, 1], 'allow'],
  ['msync', [0, 4096, 4], 0],
  ['setsockopt', [3, 1, 2], 'allow'],
  ['setsockopt', [3, 1, 26], 92],
  ['setsockopt', [3, 1, 50], 92],
  ['setsockopt', [3, 6, 2], 92],
  ['getsockopt', [3, 1, 4], 'allow'],
  ['getsockopt', [3, 1, 57], 92],
  ['bind', [3, 0, 110], 'allow'],
  ['bind', [3, 0, 2], 22],
  ['socket', [1, 1], 'allow'],
  ['socket', [2, 1], 97],
  ['clone', [0x11], 'allow'],
  ['clone', [0x1011], 1],
  ['clone', [0x10000011], 1],
  ['ioctl', [1, 0x541b], 'allow'],
  ['ioctl', [1, 0x5412], 25],
  ['prctl', [15], 'allow'],
  ['prctl', [67], 1],
  ['setrlimit', [4, 4096], 0],
  ['setrlimit', [3, 4096], 'allow'],
  ['prlimit64', [0, 4, 4096], 0],
  ['prlimit64', [0, 4, 0], 'allow'],
  ['rt_sigaction', [17, 4096], 0],
  ['rt_sigaction', [2, 4096], 'allow'],
  ['mmap', [0, 4096, 3, 0x22], 'allow'],
  ['mmap', [0, 4096, 3, 0x21], 1],
  ['timerfd_settime', [3, 1], 'allow'],
  ['timerfd_settime', [3, 2], 22],
  ...(['clone3', 'openat2', 'statx'] as const).map((name) => [name, [], 38] as const),
]

/** On x64 and arm64. */
const REFUSED: Readonly<Record<string, readonly [number, number]>> = {
  ...{ mincore: [27, 232], readahead: [187, 213], sync_file_range: [277, 84], sync: [162, 81] },
  ...{ sysinfo: [99, 179], statfs: [137, 43], fstatfs: [138, 44], sched_setaffinity: [203, 122] },
  ...{ inotify_init1: [294, 26], fanotify_init: [300, 262], memfd_create: [319, 279], shmget: [29, 194] },
  ...{ mq_open: [240, 180], add_key: [248, 217], keyctl: [250, 219], bpf: [321, 280], ptrace: [101, 117] },
  ...{ perf_event_open: [298, 241], userfaultfd: [323, 282], io_submit: [209, 2], setns: [308, 268] },
  ...{ sched_setscheduler: [144, 119], sched_setattr: [314, 274], lookup_dcookie: [212, 18] },
  ...{ splice: [275, 76], setxattr: [188, 5], mlock: [149, 228], kcmp: [312, 272], unshare: [272, 97] },
}
/** Alike on all machines: pidfd_send_signal, io_uring, pidfd_open, pidfd_getfd, process_madvise, landlock, futex_waitv, cachestat, futex_wake, none. */
const NEW = [424, 425, 426, 434, 438, 440, 444, 449, 451, 454, 600, 0x40000000]

for (const { arch, audit, place } of MACHINES) {
  const filter = systemCallFilter(arch)
  const ask = (call: number, args: readonly number[] = [], machine: number = audit) =>
    answer(filter, machine, call, args)

  test(`${arch}: what is allowed, what has no effect and what is refused`, () => {
    for (const [name, args, expected] of TABLE) {
      const call = SYSTEM_CALLS[name][place]
      assert.ok(call !== null, name)
      assert.is(ask(call as number, args), expected, `${name} ${args}`)
    }
    for (const [name, numbers] of Object.entries(REFUSED)) assert.is(ask(numbers[place]), 1, name)
    for (const call of NEW) assert.is(ask(call), 38, String(call))
    assert.is(ask(0, [], 0x40000003), 'kill')
  })

  test(`${arch}: every other number is refused`, () => {
    const known = new Set<number | null>(Object.values(SYSTEM_CALLS).map((numbers) => numbers[place]))
    for (let call = 0; call < 600; call++)
      if (!known.has(call)) assert.ok([1, 38].includes(ask(call) as number), String(call))
  })
}

test('the numbers are those of the headers', () => {
  const headers = [
    ['/usr/include/x86_64-linux-gnu/asm/unistd_64.h', /__NR_(\w+)\s+(\d+)/g],
    ['/usr/include/asm-generic/unistd.h', /__NR(?:3264)?_(\w+)\s+(\d+)/g],
  ] as const
  for (const [place, [file, pattern]] of headers.entries()) {
    if (!existsSync(file)) {
      process.stdout.write(`SKIP ${file}: it is not here\n`)
      continue
    }
    const told = new Map(
      [...readFileSync(file, 'utf8').matchAll(pattern)].map(([, name, number]) => [name, number]),
    )
    for (const [name, numbers] of Object.entries(SYSTEM_CALLS)) {
      const inHeader = told.get(name === 'newfstatat' && place === 1 ? 'fstatat' : name)
      if (inHeader !== undefined) assert.is(String(numbers[place]), inHeader, `${file} ${name}`)
    }
  }
})

test.run()
