/** A log of any length that the deciders themselves decided: the simulated learner answers in the order of the asking. */
import { uuidv7 } from 'uuidv7'
import { type Output, startDecider } from '../../../src/actors/decider/decider.ts'
import type { Job, JudgeRollouts, LoadTasks, RewriteTask, Train } from '../../../src/actors/decider/jobs.ts'
import { slotName } from '../../../src/actors/decider/names.ts'
import { decidersOf } from '../../../src/actors/deciders.ts'
import {
  simulatedColdStart,
  simulatedJudge,
  simulatedRewrite,
  simulatedRollout,
  simulatedTasks,
  simulatedUpdate,
  simulatedVersions,
} from '../../../src/actors/simulated/learner.ts'
import { type Config, configDigest, loggable } from '../../../src/config.ts'
import type { Task } from '../../../src/environments/port.ts'
import { CATALOGUE, type EventData, type LoggedEvent, type NewEvent } from '../../../src/events/catalogue.ts'
import { encodeEnvelope } from '../../../src/events/codec.ts'
import type { Role } from '../../../src/events/envelope.ts'
import type { EventLog } from '../../../src/events/log.ts'

type Waiting = { readonly event: NewEvent; readonly cause: string | null }

const BATCH = 2_000

/**
 * Plays the run of a config into an empty log, to its end or to `most` events. Returns the number of events.
 */
export function generateLog(log: EventLog, config: Config, most = Infinity): number {
  const deciders = decidersOf(config).map(startDecider)
  const tasks = new Map<string, Task>()
  const trajectories = new Map<string, EventData<'TrajectoryCompleted'>>()
  const versions = simulatedVersions()
  const queue: Waiting[] = [{ event: runStarted(config), cause: null }]
  let batch: ReturnType<EventLog['check']>[] = []
  let position = 0

  function answer(role: Role, { kind, input }: Job): NewEvent[] {
    const type = role === 'policy' ? 'PolicyUpdated' : 'RewardModelUpdated'
    const model = role === 'policy' ? 'policy' : 'reward-model'
    if (kind === 'load-tasks') return loadTasks(input as LoadTasks)
    if (kind === 'cold-start') return [{ type, data: simulatedColdStart(model, config.simulation) }]
    if (kind === 'train') {
      const job = input as Train
      const models = versions.at(job.parentVersion, job.parentVersion)
      return [{ type, data: simulatedUpdate(model, job, models, config.simulation, config) }]
    }
    if (kind === 'rewrite') {
      const job = input as RewriteTask
      return [{ type: 'TaskProposed', data: simulatedRewrite(job, tasks.get(job.parent)!) }]
    }
    const job = input as JudgeRollouts
    const models = versions.at(0, job.rewardModelVersion)
    return job.rollouts.flatMap(({ rollout }) => {
      const trajectory = trajectories.get(rollout)!
      trajectories.delete(rollout)
      return simulatedJudge(job, trajectory, models, config.rewardModel.samples).map(
        (data): NewEvent => ({ type: 'StepScored', data }),
      )
    })
  }

  function take(role: Role, output: Output, cause: string): void {
    if (output.type === 'event') queue.push({ event: output.event, cause })
    else for (const event of answer(role, output.job)) queue.push({ event, cause: null })
  }

  function append({ event, cause }: Waiting): void {
    const { type, data } = event
    const id = uuidv7()
    const envelope = {
      id,
      type,
      v: CATALOGUE[type].v,
      run: log.run,
      actor: 'bench',
      time: ++position,
      cause,
      data,
    }
    batch.push(log.check(encodeEnvelope(envelope)))
    if (batch.length === BATCH) flush()
    versions.apply(event)
    if (event.type === 'TaskAdded' || event.type === 'TaskProposed')
      tasks.set(event.data.task.id, event.data.task)
    if (event.type === 'TrajectoryCompleted') trajectories.set(event.data.rollout, event.data)
    if (event.type === 'RolloutRequested') {
      const played = simulatedRollout(
        event.data,
        tasks.get(event.data.task)!,
        versions.at(event.data.policyVersion, 0),
        config.simulation,
      )
      if (played) queue.push({ event: { type: 'TrajectoryCompleted', data: played }, cause: null })
    }
    const logged = { ...envelope, position } as LoggedEvent
    for (const running of deciders)
      for (const output of running.handle(logged)) take(running.decider.role, output, id)
  }

  function flush(): void {
    log.append(batch)
    batch = []
  }

  for (let at = 0; at < queue.length && position < most; at++) {
    append(queue[at])
    if (at < BATCH) continue
    queue.splice(0, at + 1)
    at = -1
  }
  flush()
  return position
}

function loadTasks({ splits, seed }: LoadTasks): NewEvent[] {
  return [...splits].reverse().flatMap(({ split, limit }) => {
    const ofSplit = simulatedTasks(split, limit, seed)
    return ofSplit
      .map((task, index): NewEvent => {
        const slot = slotName(split, index)
        return { type: 'TaskAdded', data: { slot, split, index, total: ofSplit.length, task } }
      })
      .reverse()
  })
}

function runStarted(config: Config): NewEvent {
  return {
    type: 'RunStarted',
    data: {
      config: loggable(config),
      configDigest: configDigest(config),
      codeVersion: 'bench',
      seed: config.run.seed,
      parent: null,
    },
  }
}
