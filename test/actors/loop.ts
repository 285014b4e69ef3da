/** A whole run in one process: the five deciders on a log in memory, and the simulated learner as their workers. */
import { type Output, type RunningDecider, startDecider } from '../../src/actors/decider/decider.ts'
import type { Job, LoadTasks } from '../../src/actors/decider/jobs.ts'
import { slotName } from '../../src/actors/decider/names.ts'
import { decidersOf } from '../../src/actors/deciders.ts'
import {
  simulatedColdStart,
  simulatedJudge,
  simulatedRewrite,
  simulatedRollout,
  simulatedTasks,
  simulatedUpdate,
  simulatedVersions,
} from '../../src/actors/simulated/learner.ts'
import { type Config, configDigest, parseConfig } from '../../src/config.ts'
import type { Task } from '../../src/environments/port.ts'
import { type EventData, keyOf, type LoggedEvent, type NewEvent } from '../../src/events/catalogue.ts'
import type { Role } from '../../src/events/envelope.ts'
import { type Rng, rng, seedOf } from '../../src/random.ts'

/** A small simulated run; sections may be changed. */
export function smallConfig(changes: Record<string, Record<string, unknown>> = {}): Config {
  const base: Record<string, Record<string, unknown>> = {
    run: { iterations: 3, evaluateEvery: 2 },
    environment: { name: 'simulated', tasks: 6, tasksPerIteration: 3, rolloutsPerTask: 4, minGroupSize: 2 },
    policy: { provider: 'simulated' },
    rewardModel: { provider: 'simulated' },
    adaptation: { evidence: 'point' },
    evaluation: { splits: ['in-domain'], tasks: 2 },
    simulation: { steps: 3 },
  }
  const sections = new Set([...Object.keys(base), ...Object.keys(changes)])
  return parseConfig(
    Object.fromEntries([...sections].map((name) => [name, { ...base[name], ...changes[name] }])),
  )
}

export function runStarted(config: Config): NewEvent {
  const digest = configDigest(config)
  return {
    type: 'RunStarted',
    data: { config: {}, configDigest: digest, codeVersion: 'test', seed: config.run.seed, parent: null },
  }
}

export type LoopOptions = {
  readonly config: Config
  /** Draws the order in which what is under way arrives; without it all arrives in the order in which it was asked for. */
  readonly order?: Rng
  /** After how many events the deciders are thrown away and started again from the log. */
  readonly restartAt?: ReadonlySet<number>
  /** Rollouts that fail whatever the policy does. */
  readonly fails?: (request: EventData<'RolloutRequested'>) => boolean
  /** Events from elsewhere: after how many events of the log they are appended; 'rest' when nothing is under way. */
  readonly interventions?: readonly { readonly at: number | 'rest'; readonly event: NewEvent }[]
}

export type Loop = {
  readonly log: readonly LoggedEvent[]
  readonly states: Readonly<Record<Role, string>>
  readonly deciders: readonly RunningDecider[]
  /** Jobs in the order in which they were asked for. */
  readonly jobs: readonly Job[]
}

/** Plays until nothing is under way any more. */
export function playLoop({ config, order, restartAt, fails, interventions = [] }: LoopOptions): Loop {
  const log: LoggedEvent[] = []
  const keys = new Set<string>()
  const jobs = new Map<string, Job>()
  const tasks = new Map<string, Task>()
  const trajectories = new Map<string, EventData<'TrajectoryCompleted'>>()
  const versions = simulatedVersions()
  /** Things under way; each is a queue of which only the first may arrive next: an emitter's events keep their order. */
  let lanes: NewEvent[][] = []
  const decisions = new Map<Role, NewEvent[]>()
  const asked = new Set<string>()
  let deciders = decidersOf(config).map(startDecider)

  function take(role: Role, outputs: readonly Output[]): void {
    for (const output of outputs) {
      if (output.type === 'event') {
        const key = keyOf(output.event)
        if (key === null || (!keys.has(key) && !asked.has(key))) {
          if (key !== null) asked.add(key)
          const lane = decisions.get(role) ?? []
          lane.push(output.event)
          decisions.set(role, lane)
        }
      } else if (!keys.has(output.job.done) && !asked.has(`job ${output.job.done}`)) {
        asked.add(`job ${output.job.done}`)
        jobs.set(output.job.done, output.job)
        lanes.push(...doJob(role, output.job))
      }
    }
  }

  function doJob(role: Role, job: Job): NewEvent[][] {
    if (job.kind === 'load-tasks') return [loadTasks(job.input)]
    if (job.kind === 'cold-start')
      return [[modelUpdated(role, simulatedColdStart(modelRole(role), config.simulation))]]
    if (job.kind === 'train') {
      const input = job.input
      const models = versions.at(input.parentVersion, input.parentVersion)
      return [
        [modelUpdated(role, simulatedUpdate(modelRole(role), input, models, config.simulation, config))],
      ]
    }
    if (job.kind === 'rewrite') {
      const input = job.input
      return [[{ type: 'TaskProposed', data: simulatedRewrite(input, tasks.get(input.parent)!) }]]
    }
    if (job.kind !== 'judge') throw new Error(`nobody does ${job.kind}`)
    const { input } = job
    const models = versions.at(0, input.rewardModelVersion)
    return input.rollouts.flatMap(({ rollout }) =>
      simulatedJudge(input, trajectories.get(rollout)!, models, config.rewardModel.samples).map(
        (data): NewEvent[] => [{ type: 'StepScored', data }],
      ),
    )
  }

  function loadTasks({ splits, seed }: LoadTasks): NewEvent[] {
    return [...splits].reverse().flatMap(({ split, limit }) => {
      const ofSplit = simulatedTasks(split, limit, seed)
      const total = ofSplit.length
      return ofSplit
        .map((task, index): NewEvent => {
          return { type: 'TaskAdded', data: { slot: slotName(split, index), split, index, total, task } }
        })
        .reverse()
    })
  }

  function play(request: EventData<'RolloutRequested'>): NewEvent {
    const models = versions.at(request.policyVersion, 0)
    const trajectory = fails?.(request)
      ? null
      : simulatedRollout(request, tasks.get(request.task)!, models, config.simulation)
    if (trajectory) return { type: 'TrajectoryCompleted', data: trajectory }
    const { rollout, iteration, purpose, slot, task } = request
    const data = {
      rollout,
      iteration,
      purpose,
      slot,
      task,
      cause: 'infra' as const,
      error: 'simulated',
      attempts: 3,
    }
    return { type: 'RolloutFailed', data }
  }

  function append(event: NewEvent): void {
    const key = keyOf(event)
    if (key !== null && keys.has(key)) return
    if (key !== null) keys.add(key)
    const logged = { ...event, position: log.length + 1, time: 1000 + log.length } as LoggedEvent
    log.push(logged)
    versions.apply(event)
    if (event.type === 'TaskAdded' || event.type === 'TaskProposed')
      tasks.set(event.data.task.id, event.data.task)
    if (event.type === 'TrajectoryCompleted') trajectories.set(event.data.rollout, event.data)
    if (event.type === 'RolloutRequested') lanes.push([play(event.data)])
    for (const running of deciders) take(running.decider.role, running.handle(logged))
  }

  const restarts = new Set(restartAt)
  append(runStarted(config))
  const waiting = [...interventions]
  const intervene = (at: number | 'rest') => {
    const found = waiting.findIndex((one) => one.at === at)
    if (found < 0) return false
    append(waiting.splice(found, 1)[0].event)
    return true
  }
  while (true) {
    if (intervene(log.length)) continue
    if (restarts.delete(log.length)) {
      deciders = decidersOf(config).map(startDecider)
      asked.clear()
      lanes = []
      decisions.clear()
      for (const event of log) {
        for (const running of deciders) take(running.decider.role, running.handle(event))
        if (event.type === 'RolloutRequested' && !keys.has(`Rollout/${event.data.rollout}`))
          lanes.push([play(event.data)])
      }
      for (const [role, lane] of decisions)
        decisions.set(
          role,
          lane.filter((event) => !keys.has(keyOf(event) ?? '')),
        )
    }
    const ready = [...decisions.values(), ...lanes].filter((lane) => lane.length > 0)
    if (ready.length === 0) {
      if (intervene('rest')) continue
      break
    }
    const lane = ready[order ? order.below(ready.length) : 0]
    const event = lane.shift()!
    lanes = lanes.filter(({ length }) => length > 0)
    append(event)
  }
  const states = Object.fromEntries(
    deciders.map((running) => [running.decider.role, running.state()]),
  ) as Record<Role, string>
  return { log, states, deciders, jobs: [...jobs.values()] }
}

function modelRole(role: Role): 'policy' | 'reward-model' {
  return role === 'policy' ? 'policy' : 'reward-model'
}

function modelUpdated(role: Role, data: EventData<'PolicyUpdated'>): NewEvent {
  return { type: role === 'policy' ? 'PolicyUpdated' : 'RewardModelUpdated', data }
}

/** A run's events without their order, for comparing runs. */
export function facts(log: readonly LoggedEvent[]): string[] {
  return log.map(({ type, data }) => JSON.stringify([type, data])).sort()
}

/** An order of arrival. */
export function shuffled(seed: number): Rng {
  return rng(seedOf(seed, 'order'))
}
