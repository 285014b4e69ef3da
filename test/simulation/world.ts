/**
 * A whole run in one process and in virtual time: the real head, deciders, actors, queues and log over simulated ports, a
 * supervisor that starts again what ended, and faults. The same seed makes the same world.
 */
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { serveRun } from '../../src/actors/head/serve-run.ts'
import type { Actor } from '../../src/actors/runtime/actor.ts'
import { type RunFolder, runFolder } from '../../src/broker/connection.ts'
import type { Config } from '../../src/config.ts'
import { explain, RlError } from '../../src/errors.ts'
import { type EventLog, openLog } from '../../src/events/log.ts'
import { type LogReader, openLogReader } from '../../src/events/log-reader.ts'
import { unpackUntrusted } from '../../src/events/msgpack.ts'
import { EPOCH_HEADER, POSITION_HEADER, subjectsOf } from '../../src/events/subjects.ts'
import { openBroker } from './broker.ts'
import { connectSimulated, type SimulatedBus } from './bus.ts'
import { type Expected, violationsOf } from './checks.ts'
import { type Faults, openFaults, type TimedFault } from './faults.ts'
import {
  type HeadEnd,
  headLife,
  type RoleEnd,
  RUN,
  roleLife,
  type Surroundings,
  standbyLife,
  type Trouble,
} from './lives.ts'
import { DeadProcess, type Machine, never, openProcess, type Process } from './process.ts'
import { openScheduler } from './scheduler.ts'

export type WorldOptions = {
  readonly seed: number
  readonly config: Config
  /** The undisturbed run's digest; null where this is that run. */
  readonly expected: Expected | null
  /** Only these faults, by name. */
  readonly only?: ReadonlySet<string>
  /** These, at their times, and no other fault. */
  readonly timed?: readonly TimedFault[]
  readonly trace?: (line: string) => void
}

export type Outcome = {
  readonly seed: number
  readonly violations: readonly string[]
  /** Faults that struck, by name. */
  readonly struck: readonly string[]
  readonly digest: string
  readonly events: number
  readonly steps: number
  readonly virtualMs: number
}

/** Virtual milliseconds: in which faults strike, for the run to end afterwards, and for all to come to rest when it is over. */
const FAULTS_MS = 20_000
const END_MS = 150_000
const REST_MS = 60_000
/** Longer than any deadline of a job. */
const LATE_MS = 8_500
/** How often it is looked whether all has come to rest. */
const LOOK_MS = 1_000
const STEPS = 1_000_000
const ROLES = [
  { name: 'environment', role: 'environment', further: false },
  { name: 'environment-2', role: 'environment', further: true },
  { name: 'policy', role: 'policy', further: false },
  { name: 'reward-model', role: 'reward-model', further: false },
  { name: 'reward-model-2', role: 'reward-model', further: true },
  { name: 'adapter', role: 'adapter', further: false },
] as const

/** Where a head can be started: a machine with a copy of the log. */
type Seat = {
  readonly name: string
  readonly machine: Machine
  readonly path: string
  /** Opened when a head has made the log. */
  reader: LogReader | null
  process: Process | null
  retired: boolean
  /** Whether a head that is started here waits beside another one. */
  stands: boolean
}

type Life = {
  readonly process: Process
  readonly ask: () => void
  actor: Actor | null
  readonly ended: Promise<void>
}

/** A process may end so: it says that it has no business any more, or that the head starts it again. */
const LEGITIMATE = new Set([
  'actor.head-gone',
  'actor.second-decider',
  'actor.fenced',
  'actor.deadline',
  'head.second',
  'head.fenced',
  'log.rolled-back',
  'log.not-held',
  'log.disk-full',
  'log.diverged',
  'record.lost',
  'standby.no-records',
  'run.not-started',
  'worker.trouble',
  'bus.disconnected',
  'bus.timeout',
  'bus.no-responder',
  'bus.failed',
])

/** A head that ends so does better as a standby of the one that has the run. */
const STANDS_THEN: ReadonlySet<string> = new Set(['head.second', 'head.fenced', 'log.diverged'])

export async function runWorld({
  seed,
  config,
  expected,
  only,
  timed,
  trace,
}: WorldOptions): Promise<Outcome> {
  // Errors are made by the thousand, and told by their message.
  Error.stackTraceLimit = trace ? 10 : 0
  const root = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'rl-simulation-'))
  const scheduler = openScheduler()
  let calm = expected === null
  const faults: Faults = openFaults({
    seed,
    only,
    quiet: calm || timed !== undefined,
    now: () => (calm ? Number.POSITIVE_INFINITY : scheduler.now()),
    untilMs: FAULTS_MS,
  })
  const violations: string[] = []
  const say = (text: string) => trace?.(`${(scheduler.now() / 1000).toFixed(4).padStart(9)}  ${text}`)
  const violate = (text: string) => {
    say(`VIOLATION ${text}`)
    if (violations.length < 20) violations.push(text)
  }
  const onRejection = (reason: unknown) => {
    if (!isOfTheDead(reason)) violate(`unhandled rejection: ${explain(reason)}`)
  }
  process.on('unhandledRejection', onRejection)

  const broker = openBroker({ scheduler, faults, onDone: checkDone })
  const buses = new Set<SimulatedBus>()
  const lives = new Map<string, Life>()
  /** Roles that ended with the run. */
  const over = new Set<string>()
  const living = new Map<number, Process>()
  const seats: Seat[] = []
  const serving = new Map<Process, Awaited<ReturnType<typeof serveRun>>>()
  /** What was answered to those who appended: id of the event and its position. */
  const told = new Map<string, number>()
  let holder: Seat | null = null
  let brokerUpAt = 0
  const isBrokerUp = () => scheduler.now() >= brokerUpAt
  let completed = false
  let finishing = false
  let pids = 100
  let disk: { freeUntil: number; fullUntil: number } = { freeUntil: 0, fullUntil: 0 }
  /** Whether the head starts the broker and the roles itself: then they end with it. */
  const together = faults.draw('together', 'world') < 0.5
  /** Whether brokers elsewhere keep the log, and a second head is a standby. */
  const replicated = !together && faults.draw('replicated', 'world') < 0.6

  function newProcess(name: string, machine: Machine): Process {
    const pid = pids++
    const made = openProcess({
      name,
      pid,
      machine,
      scheduler,
      faults,
      lives: (other) => living.get(other)?.machine === machine,
      onCrash: () => say(`${name} dies`),
      onThrow: (error) => violate(`${name} ended by an error that nothing caught: ${explain(error)}`),
    })
    living.set(pid, made)
    made.onEnd(() => living.delete(pid))
    return made
  }

  function connector(own: Process): Surroundings['connect'] {
    return async (user, link) => {
      if (!own.point()) return never()
      if (!isBrokerUp()) throw new RlError('nobody listens', { code: 'bus.no-responder' })
      const bus = connectSimulated({
        process: own,
        user,
        link: own.machine === seats[0].machine || !link.startsWith('head') ? link : `${link}-2`,
        broker,
        scheduler,
        faults,
        isUp: isBrokerUp,
        onAnswer: noteAnswer,
      })
      buses.add(bus)
      own.onEnd(() => buses.delete(bus))
      return bus
    }
  }

  /** Positions that were told stand, whatever comes. */
  function noteAnswer(subject: string, request: Uint8Array, answer: Uint8Array): void {
    if (!subject.includes('.log.append')) return
    const groups = unpackUntrusted(request) as Uint8Array[][]
    const replies = unpackUntrusted(answer) as ([number, number][] | { code: string })[]
    for (const [index, group] of groups.entries()) {
      const reply = replies[index]
      if (!Array.isArray(reply)) continue
      for (const [at, body] of group.entries()) {
        const [position, duplicate] = reply[at]
        if (duplicate === 0) told.set((unpackUntrusted(body) as { id: string }).id, position)
      }
    }
  }

  /** Work may be called done only where the log holds its result, or says that it failed for good. */
  function checkDone(queue: string, { body }: { body: Uint8Array }): void {
    const key = keyOfWork(body)
    if (key === null) return
    const { reader } = seat()
    if (reader === null || reader.positionOf('key', key) !== null) return
    const failed = [...reader.events({ types: ['WorkFailed'] })]
    if (failed.some((event) => event.type === 'WorkFailed' && event.data.done === key)) return
    // Verdicts make a judged trajectory: its event follows from them.
    const scored = key.replace(/^TrajectoryJudged\//, 'StepScored/')
    if (scored !== key && reader.positionOf('key', `${scored}/0`) !== null) return
    violate(`${queue}: ${key} was called done, and the log has no result of it`)
  }

  /** The seat whose head took the run last. */
  const seat = () => holder ?? seats[0]

  function guarded(own: Process, log: EventLog, at: Seat): EventLog {
    const alive =
      <Values extends readonly unknown[], Result>(call: (...values: Values) => Result) =>
      (...values: Values): Result => {
        if (!own.isAlive()) throw new DeadProcess('dead')
        return call(...values)
      }
    const entries = Object.entries(log).map(([name, value]) => [
      name,
      typeof value === 'function' ? alive(value as never) : value,
    ])
    const same = Object.fromEntries(entries) as EventLog
    const checkDisk = () => {
      if (at === seats[0] && scheduler.now() < disk.fullUntil)
        throw new RlError('the disk is full', { code: 'log.disk-full' })
    }
    return {
      ...same,
      append(events, options) {
        if (!own.point()) throw new DeadProcess('dead')
        checkDisk()
        if (!replicated && !hold(at, own, log)) throw new DeadProcess('dead')
        if (faults.strike('torn', at.name) !== null) throw failInside(log, events)
        const appended = log.append(events, options)
        if (trace)
          for (const [index, { envelope, key }] of events.entries())
            if (!appended[index].duplicate)
              say(`  ${appended[index].position} ${envelope.type} ${key ?? ''} by ${envelope.actor}`)
        if (!own.point()) throw new DeadProcess('dead')
        return appended
      },
      setMeta(name, value) {
        if (!own.point()) throw new DeadProcess('dead')
        checkDisk()
        log.setMeta(name, value)
      },
      addDeadLetters(letters) {
        if (!own.isAlive()) throw new DeadProcess('dead')
        checkDisk()
        log.addDeadLetters(letters)
      },
    }
  }

  function live(
    name: string,
    own: Process,
    begin: (surroundings: Surroundings) => Promise<HeadEnd | RoleEnd>,
    onEnd: (error: unknown, end: HeadEnd | RoleEnd | undefined) => void,
  ): void {
    let ask = () => {}
    const asked = new Promise<void>((resolve) => {
      ask = resolve
    })
    let tellEnd = () => {}
    const ended = new Promise<void>((resolve) => {
      tellEnd = resolve
    })
    const life: Life = { process: own, ask, actor: null, ended }
    lives.set(name, life)
    say(`${name} starts as process ${own.platform.self.pid} on ${own.machine.name}`)
    const end = (error: unknown, how: HeadEnd | RoleEnd | undefined) => {
      tellEnd()
      if (lives.get(name) === life) lives.delete(name)
      onEnd(error, how)
    }
    own.onEnd(() => {
      if (!ending) end(null, undefined)
    })
    let ending = false
    const leave = (error: unknown, how: HeadEnd | RoleEnd | undefined) => {
      if (!own.isAlive()) return
      ending = true
      own.die()
      if (error !== null) {
        say(`${name} ends: ${explain(error)}`)
        if (!(error instanceof RlError && LEGITIMATE.has(error.code)) && !isOfTheDead(error))
          violate(`${name} ended by ${explain(error)}`)
      } else say(`${name} ends`)
      end(error, how)
    }
    begin({
      process: own,
      config,
      folder: runFolder(RUN, join(root, own.machine.name)),
      connect: connector(own),
      asked,
      onActor: (actor) => {
        life.actor = actor
      },
    }).then(
      (how) => leave(null, how),
      (error) => leave(error, undefined),
    )
  }

  function startHead(at: Seat): void {
    const { name } = at
    if (at.retired || at.process?.isAlive() || finishing) return
    if (!isBrokerUp() && !together) return void scheduler.at(scheduler.now() + 200, () => startHead(at))
    if (together && at === seats[0]) brokerUpAt = 0
    const own = newProcess(name, at.machine)
    at.process = own
    if (!replicated && holder !== null && holder !== at) copyLog(holder, at)
    live(
      name,
      own,
      async (surroundings) => {
        const silent = at.stands
          ? await standbyLife(surroundings, folderOf(at), () => openSeatLog(at, own))
          : undefined
        if (silent === null) return 'asked'
        return headLife(surroundings, {
          log: openSeatLog(at, own),
          alone: together && seats.length === 1,
          replicated,
          silent,
          // What runs on in a process that died a moment ago serves nobody.
          onServing(served) {
            if (!own.isAlive()) return
            serving.set(own, served)
            if (replicated) take(at)
          },
          onCompleted() {
            completed = true
          },
        })
      },
      (error, end) => {
        serving.delete(own)
        at.process = null
        // Nobody starts a head again that was told that the run has another.
        if (error instanceof RlError && error.code === 'head.second' && !replicated)
          at.retired ||= at !== seat()
        if (error instanceof RlError && STANDS_THEN.has(error.code))
          at.stands = replicated && seats.length > 1
        // A person starts a paused run again, where its head was.
        if (end === 'paused') at.stands = false
        if (end === 'failed') violate('the run failed')
        if (together || end === 'paused') endRoles()
        if (together && at === seats[0] && seats.length === 1) {
          stopBroker(300)
          brokerUpAt = Number.POSITIVE_INFINITY // until the next head starts it
        }
        const again = () => startHead(at.retired ? seat() : at)
        if (!finishing) scheduler.at(scheduler.now() + 100 + 900 * faults.draw('start', name), again)
      },
    )
  }

  function openSeatLog(at: Seat, own: Process): EventLog {
    const log = openLog(at.path, {
      run: RUN,
      minFreeBytes: 1,
      freeBytes: () => (at === seats[0] && scheduler.now() < disk.freeUntil ? 0 : 2 ** 40),
      synchronous: 'NORMAL',
      clock: own.platform.clock,
    })
    let open = true
    const close = () => {
      if (open) log.close()
      open = false
    }
    own.onEnd(close)
    return { ...guarded(own, log, at), close }
  }

  function folderOf({ path }: Seat): RunFolder {
    return { ...runFolder(RUN, dirname(path)), folder: dirname(path), log: path }
  }

  function startRole(one: (typeof ROLES)[number], name: string = one.name): void {
    if (lives.has(name) || finishing) return
    if (!isBrokerUp() || (together && !seats.some(({ process: own }) => own?.isAlive())))
      return void scheduler.at(scheduler.now() + 200, () => startRole(one, name))
    const own = newProcess(name, { name: `machine-of-${name}`, offsetMs: 0 })
    live(
      name,
      own,
      (surroundings) =>
        roleLife(surroundings, { role: one.role, further: one.further, trouble: troubleOf(own) }),
      (_error, end) => {
        // It is not started again, as a supervisor leaves a process alone that ended well.
        if (end === 'over') over.add(name)
        const head = seats.find(({ process: head }) => head?.isAlive())?.process
        const { pid, place } = own.platform.self
        if (head) serving.get(head)?.watch.forget(pid, place)
        if (!finishing && name === one.name && !over.has(name))
          scheduler.at(scheduler.now() + 50 + 450 * faults.draw('start', name), () => startRole(one))
      },
    )
  }

  function endRoles(): void {
    for (const { name } of ROLES) lives.get(name)?.process.die()
  }

  /** A job takes 20 to 300 ms; faults make it throw, hang or take long. */
  function troubleOf(own: Process): Trouble {
    return async (kind, clock) => {
      if (!own.point()) return never()
      const place = `${own.name} ${kind}`
      if (faults.strike('hang', place) !== null) {
        say(`${place} hangs`)
        return never()
      }
      const late = faults.strike('late', place)
      const slow = faults.strike('slow', place)
      const usual = 20 + 280 * faults.draw('job', place)
      const ms = late !== null ? LATE_MS + 10_000 * late : slow !== null ? 10_000 * slow : usual
      await new Promise<void>((resolve) => clock.after(ms, resolve))
      if (faults.strike('throw', place) === null) return
      say(`${place} throws`)
      throw new RlError('the worker is in trouble', { code: 'worker.trouble' })
    }
  }

  /** Until the longest of its outages is over, whichever began first. */
  function stopBroker(ms: number): void {
    for (const bus of buses) bus.cut(ms)
    brokerUpAt = Math.max(brokerUpAt, scheduler.now() + ms)
  }

  function strikeTimed(fault: TimedFault): void {
    if (completed || finishing) return
    const { kind, whom, size } = fault
    const all = [...lives.values()]
    const life = all[Math.floor(whom * all.length)]
    if (!life) return
    const ms = 50 + size * size * 15_000
    faults.note(fault)
    say(`FAULT ${fault.name} (${life.process.name}, ${(ms / 1000).toFixed(1)} s)`)
    const connections = [...buses].filter((bus) => bus.process === life.process)
    switch (kind) {
      case 'cut':
        for (const bus of connections) bus.cut(ms)
        return
      case 'hole':
        for (const bus of connections) bus.hole(Math.min(ms, 10_000))
        return
      case 'pause':
        life.process.pause(ms)
        return
      case 'jump':
        life.process.machine.offsetMs += (size - 0.5) * 7_200_000
        return
      case 'disk':
        disk = { ...disk, freeUntil: scheduler.now() + ms }
        return
      case 'full':
        disk = { ...disk, fullUntil: scheduler.now() + ms }
        return
      case 'restart':
        stopBroker(ms)
        return
      case 'wipe':
        stopBroker(ms)
        broker.wipe()
        return
      case 'forget': {
        const names = broker.queueNames()
        if (names.length > 0) broker.forget(names[Math.floor(whom * names.length)])
        return
      }
      case 'garbage':
        sendGarbage(whom, size)
        return
      case 'decider': {
        const role = ROLES.filter(({ further }) => !further)[Math.floor(whom * 4)]
        startRole(role, `${role.name}-again`)
        return
      }
      case 'kill':
        say(`${life.process.name} is killed`)
        life.process.die()
        return
      case 'head':
        startSecondHead(whom, ms)
    }
  }

  /** The first head's machine stands still or is cut off, or is well: then the second must be refused. */
  function startSecondHead(whom: number, ms: number): void {
    const first = seats[0]
    const own = first.process
    if (seats.length > 1 || !own?.isAlive() || !serving.has(own)) return
    const machine = { name: 'machine-2', offsetMs: 0 }
    const path = join(root, 'second', 'events.db')
    const second: Seat = {
      ...{ name: 'head-2', machine, path, reader: null, process: null, retired: false },
      stands: replicated,
    }
    seats.push(second)
    startHead(second)
    if (whom < 0.4) own.pause(ms)
    else if (whom < 0.8) for (const bus of buses) if (bus.process === own) bus.cut(ms)
  }

  function take(at: Seat): void {
    if (holder === at) return
    holder = at
    at.reader?.close()
    at.reader = openLogReader(at.path)
  }

  /** A machine that has not had the run yet is given a copy of the log each time that a head is started on it. */
  function copyLog(from: Seat, to: Seat): void {
    rmSync(dirname(to.path), { recursive: true, force: true })
    mkdirSync(dirname(to.path))
    for (const part of ['', '-wal'])
      if (existsSync(`${from.path}${part}`)) copyFileSync(`${from.path}${part}`, `${to.path}${part}`)
  }

  /**
   * Asked before each append: the head at this seat has the run from its first one on. Where its copy of the log is behind by then,
   * who started it ends it: no fence can bring back what another machine alone has.
   */
  function hold(at: Seat, own: Process, log: EventLog): boolean {
    if (holder === at || at.retired) return true
    if (holder?.reader && holder.reader.head().position > log.head().position) {
      say(`the copy of ${at.name} is behind: it is ended`)
      at.retired = true
      own.die()
      return false
    }
    if (holder) retire(holder)
    holder = at
    at.reader = openLogReader(at.path)
    return true
  }

  /** A head that still waits there for the run would take it with a log that is behind by then. */
  function retire(at: Seat): void {
    at.retired = true
    if (at.process && !serving.has(at.process)) at.process.die()
  }

  /** What the run still has to do, or waits for. */
  function whatIsLeft(): string[] {
    const left: string[] = []
    for (const { name } of ROLES) {
      const status = (lives.get(`${name}-again`)?.actor ?? lives.get(name)?.actor)?.status()
      if (status === undefined && over.has(name)) continue
      if (status === undefined) left.push(`${name} has not taken up its role`)
      else if (status.waitsInAll > 0)
        left.push(`${name} waits still for ${status.waits.map(({ waitingFor }) => waitingFor).join(', ')}`)
    }
    // Work that came again after its result is nobody's once the roles have ended.
    for (const [name, count] of broker.queued())
      if (count > 0 && over.size === 0) left.push(`${count} pieces of work are left in ${name}`)
    for (const { service } of serving.values())
      if (service.openWork() > 0) left.push(`${service.openWork()} pieces of work are on the books still`)
    return left
  }

  function sendGarbage(whom: number, size: number): void {
    const subjects = subjectsOf(RUN)
    const targets = [
      subjects.evt('RolloutRequested'),
      subjects.evt('TrajectoryCompleted'),
      subjects.evt('PolicyUpdated'),
      subjects.work('reward-model'),
      subjects.work('adapter'),
      subjects.tap('head'),
      subjects.tapOf('heartbeat', 'policy'),
      subjects.tapOf('fault', 'policy'),
      subjects.append('environment'),
      subjects.log('read'),
    ]
    const body =
      size < 0.5
        ? Uint8Array.of(0xc1)
        : Uint8Array.from({ length: 40 }, (_, index) => (index * 37 + size * 1000) & 255)
    const served = serving.get(seat().process as Process)
    const headers: Record<string, string> = {
      [POSITION_HEADER]: String(told.size + 1 + Math.floor(size * 3)),
      [EPOCH_HEADER]: String(size < 0.8 ? 1 : 9),
    }
    const subject = targets[Math.floor(whom * targets.length)]
    const message = { subject, body, header: (name: string) => headers[name] }
    if (served) say(`garbage on ${subject}`)
    broker.send({ ...message, reply: null })
    try {
      broker.enqueue(message, null)
    } catch {
      // No queue has this subject.
    }
  }

  seats.push({
    name: 'head',
    machine: { name: 'machine-1', offsetMs: 0 },
    path: join(root, 'first', 'events.db'),
    reader: null,
    process: null,
    retired: false,
    stands: false,
  })
  mkdirSync(join(root, 'first'))
  const limits = { time: FAULTS_MS + END_MS, steps: STEPS }
  try {
    startHead(seats[0])
    for (const one of ROLES) startRole(one)
    for (const fault of timed ?? faults.timed) scheduler.at(fault.at, () => strikeTimed(fault))
    const reached = await scheduler.run(() => completed || violations.length > 0, limits)
    if (reached !== 'done') violate(`the run did not end (${reached} at ${Math.round(scheduler.now())} ms)`)
    calm = true
    disk = { freeUntil: 0, fullUntil: 0 }
    if (violations.length === 0) {
      const last = scheduler.now() + REST_MS
      let restless = whatIsLeft()
      while (restless.length > 0 && scheduler.now() < last) {
        const look = scheduler.now() + LOOK_MS
        await scheduler.run(() => violations.length > 0, { time: look, steps: STEPS })
        if (violations.length > 0) break
        restless = whatIsLeft()
      }
      for (const one of restless) violate(one)
      finishing = true
      for (const life of lives.values()) life.ask()
      const all = Promise.all([...lives.values()].map(({ ended }) => ended))
      let over = false
      void all.then(() => {
        over = true
      })
      const ended = await scheduler.run(() => over, { time: scheduler.now() + 100_000, steps: STEPS })
      if (ended !== 'done') violate(`asked to end, ${[...lives.keys()].join(', ')} did not`)
    }
    const { found, digest, events } = violationsOf(seat().path, expected, told)
    if (violations.length === 0) for (const one of found) violate(one)
    const { struck } = faults
    return {
      seed,
      violations,
      struck,
      digest,
      events,
      steps: scheduler.steps(),
      virtualMs: Math.round(scheduler.now()),
    }
  } finally {
    finishing = true
    for (const one of [...living.values()]) one.die()
    await new Promise(setImmediate)
    process.off('unhandledRejection', onRejection)
    for (const { reader } of seats) reader?.close()
    rmSync(root, { recursive: true, force: true })
  }
}

function isOfTheDead(reason: unknown): boolean {
  for (let error = reason; error instanceof Error; error = error.cause)
    if (error instanceof DeadProcess) return true
  return false
}

/** Makes SQLite itself fail behind the events of a transaction: a value of meta may not be null. */
function failInside(log: EventLog, events: Parameters<EventLog['append']>[0]): RlError {
  try {
    log.append(events, { urgent: true, meta: { torn: null as unknown as string } })
  } catch (error) {
    return new RlError('the disk failed inside a transaction', { code: 'log.disk-full', cause: error })
  }
  throw new TypeError('a transaction that must fail was committed')
}

/** The natural key of the result that a message of a queue asks for; null where it is garbage. */
function keyOfWork(body: Uint8Array): string | null {
  try {
    const message = unpackUntrusted(body) as {
      type?: string
      data?: { rollout: string }
      job?: { done: string }
    }
    if (message.type === 'RolloutRequested' && message.data) return `Rollout/${message.data.rollout}`
    return message.job?.done ?? null
  } catch {
    return null
  }
}
