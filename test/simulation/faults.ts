/**
 * Which faults strike in a world. Each place where one may strike has a name and counts its opportunities; whether it strikes at
 * one, and how hard, is a pure function of (seed, kind, place, count). So a world can be made again with some of its faults
 * only: that is how a failing seed is shrunk.
 */
import { type Seed, seedOf, threefry } from '../../src/random.ts'

/** Strike as a message crosses a link, or as a process calls a port, or as a worker does a job. */
export const FAULT_KINDS = {
  drop: 'a message is lost on a link',
  double: 'a message arrives twice',
  delay: 'a message arrives up to 8 s late, after later ones',
  reorder: 'a message is overtaken by those of the next 20 ms',
  refuse: 'the broker does not take a piece of work',
  redeliver: 'the broker hands out work that is in hand already',
  crash: 'a process dies as it calls a port or is called',
  throw: 'a worker fails at a job',
  hang: 'a worker never ends a job, nor hears that it should',
  late: 'a worker ends a job after its deadline, and brings its result all the same',
  slow: 'a worker takes up to 10 s for a job',
  torn: 'the disk of the head fails inside a transaction',
} as const
type FaultKind = keyof typeof FAULT_KINDS

/** Strike at a time, most of them for a while. */
export const TIMED_KINDS = {
  cut: 'a connection is lost and comes back',
  hole: 'a link swallows all for a while, and nobody is told',
  pause: 'a process stands still',
  jump: 'the clock of a machine jumps',
  disk: 'the disk of the head is full, but for its reserve',
  full: 'the disk of the head is full to the last byte',
  restart: 'the broker ends and comes back with its store',
  wipe: 'the broker ends and comes back without its store',
  forget: 'a queue is deleted with all that is in it',
  garbage: 'bytes that mean nothing come on a subject of the run',
  head: 'a second head is started, on another machine, with a copy of the log',
  decider: 'a second process of a role is started, with its decider',
  kill: 'a process is killed',
} as const
export type TimedKind = keyof typeof TIMED_KINDS

export type TimedFault = {
  readonly name: string
  readonly kind: TimedKind
  /** Virtual milliseconds. */
  readonly at: number
  /** Draws in [0, 1): whom it strikes, and how hard. */
  readonly whom: number
  readonly size: number
}

export type Faults = {
  /** Null, or how hard the fault strikes here and now, in [0, 1). */
  readonly strike: (kind: FaultKind, place: string) => number | null
  /** A draw in [0, 1) that is no fault, e.g. how long a message takes. */
  readonly draw: (what: string, place: string) => number
  readonly timed: readonly TimedFault[]
  /** Faults that struck, by name, in order. */
  readonly struck: readonly string[]
  /** The timed fault struck. */
  readonly note: (fault: TimedFault) => void
}

export type FaultOptions = {
  readonly seed: number
  /** Where given, only these faults strike: their names, as in `struck`. */
  readonly only?: ReadonlySet<string>
  /** No fault at all. */
  readonly quiet?: boolean
  readonly now: () => number
  /** Virtual milliseconds in which faults strike. */
  readonly untilMs: number
}

/** How often each kind strikes at an opportunity, where a world has it at all. */
const RATES: Readonly<Record<FaultKind, number>> = {
  drop: 0.02,
  double: 0.02,
  delay: 0.01,
  reorder: 0.05,
  refuse: 0.05,
  redeliver: 0.05,
  crash: 0.001,
  throw: 0.05,
  hang: 0.02,
  late: 0.02,
  slow: 0.05,
  torn: 0.03,
}
/** Share of the worlds that have a kind: few kinds at a time reach further than all of them together. */
const SHARE = 0.3
const TIMED_SHARE = 0.15
/** Most timed faults of a kind. */
const TIMED_MOST = 3

export function openFaults({ seed, only, quiet = false, now, untilMs }: FaultOptions): Faults {
  const root = seedOf(seed, 'simulation')
  const keys = new Map<string, { readonly key: Seed; count: number }>()
  const rates = new Map<FaultKind, number>()
  for (const kind of Object.keys(RATES) as FaultKind[]) {
    const [has, how] = uniforms(seedOf(root, 'rate', kind), 0)
    rates.set(kind, has < SHARE ? RATES[kind] * (0.2 + 3 * how * how) : 0)
  }
  const struck: string[] = []

  function next(what: string, place: string): readonly [number, number, number] {
    const name = `${what} ${place}`
    let entry = keys.get(name)
    if (!entry) {
      entry = { key: seedOf(root, what, place), count: 0 }
      keys.set(name, entry)
    }
    const [first, second] = uniforms(entry.key, entry.count)
    return [first, second, entry.count++]
  }

  const timed = (Object.keys(TIMED_KINDS) as TimedKind[]).flatMap((kind) => {
    const key = seedOf(root, 'timed', kind)
    const [has, many] = uniforms(key, 0)
    if (quiet || has >= TIMED_SHARE) return []
    return Array.from({ length: 1 + Math.floor(many * TIMED_MOST) }, (_, index): TimedFault => {
      const [at, whom] = uniforms(key, 2 * index + 1)
      const [size] = uniforms(key, 2 * index + 2)
      return { name: `${kind}#${index}`, kind, at: at * at * untilMs, whom, size }
    })
  })

  return {
    strike(kind, place) {
      const rate = rates.get(kind) ?? 0
      if (quiet || rate === 0) return null
      const [chance, size, count] = next(kind, place)
      const name = `${kind} ${place} #${count}`
      if (only ? !only.has(name) : now() > untilMs || chance >= rate) return null
      struck.push(name)
      return size
    },
    draw: (what, place) => next(what, place)[0],
    timed: timed.filter(({ name }) => !only || only.has(name)),
    struck,
    note: ({ name }) => void struck.push(name),
  }
}

function uniforms(key: Seed, counter: number): readonly [number, number] {
  const [first, second] = threefry(key, [counter >>> 0, 0])
  return [first / 2 ** 32, second / 2 ** 32]
}
