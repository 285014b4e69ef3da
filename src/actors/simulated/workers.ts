/** Workers of the simulated learner: the real actors, bus and log around formulas in place of models and environments. */
import type { Config } from '../../config.ts'
import type { EventData, NewEvent } from '../../events/catalogue.ts'
import type { Role } from '../../events/envelope.ts'
import type { LogClient } from '../../events/log-client.ts'
import { seedOf } from '../../random.ts'
import type { JudgeRollouts, LoadTasks } from '../decider/jobs.ts'
import { slotName } from '../decider/names.ts'
import { rolloutQueue } from '../environment/rollout-queue.ts'
import type { ModelRole } from '../learner/checkpoints.ts'
import { VERSION_EVENTS } from '../learner/version-events.ts'
import { openTaskBook, readEvents, trajectoryBook } from '../rollout/log-queries.ts'
import type { Worker } from '../runtime/worker.ts'
import {
  simulatedColdStart,
  simulatedJudge,
  simulatedRewrite,
  simulatedRollout,
  simulatedTasks,
  simulatedUpdate,
  simulatedVersions,
} from './learner.ts'

/** @param slots rollouts that it has in hand at a time, if it plays */
export function simulatedWorker(role: Role, config: Config, log: LogClient, slots: number): Worker {
  const { run, rewardModel, simulation } = config
  const tasks = openTaskBook(log)
  const models = openVersions(log)
  const trajectories = trajectoryBook(log)

  async function play(request: EventData<'RolloutRequested'>): Promise<NewEvent> {
    const { skill } = await models.at(request.policyVersion, 0)
    const data = simulatedRollout(request, await tasks.find(request.task), { skill }, simulation)
    if (data) return { type: 'TrajectoryCompleted', data }
    const { rollout, iteration, purpose, slot, task } = request
    return {
      type: 'RolloutFailed',
      data: { rollout, iteration, purpose, slot, task, cause: 'env', error: 'simulated fault', attempts: 1 },
    }
  }

  async function judge(job: JudgeRollouts): Promise<NewEvent[]> {
    const { accuracy } = await models.at(0, job.rewardModelVersion)
    const judged = await trajectories.find(
      job.iteration,
      job.rollouts.map(({ rollout }) => rollout),
    )
    return judged
      .flatMap((trajectory) => simulatedJudge(job, trajectory, { accuracy }, rewardModel.samples))
      .map((data) => ({ type: 'StepScored', data }))
  }

  function learning(role: ModelRole): Worker['jobs'] {
    const updated = (data: EventData<'PolicyUpdated'>): NewEvent[] => [
      { type: VERSION_EVENTS[role].updated, data },
    ]
    return {
      'cold-start': async () => updated(simulatedColdStart(role, simulation)),
      train: async (job) => {
        const now = await models.at(job.parentVersion, job.parentVersion)
        return updated(simulatedUpdate(role, job, now, simulation, config))
      },
    }
  }

  const jobs: Readonly<Record<Role, Worker['jobs']>> = {
    head: {},
    environment: {
      'load-tasks': async (input) => addTasks(input),
      play: async (input) => [await play(input)],
    },
    policy: learning('policy'),
    'reward-model': { ...learning('reward-model'), judge },
    adapter: {
      rewrite: async (job) => [
        { type: 'TaskProposed', data: simulatedRewrite(job, await tasks.find(job.parent)) },
      ],
    },
  }
  return {
    concurrency: 64,
    queues: role === 'environment' ? [rolloutQueue(run.deadlines.rolloutSeconds * 1000, slots)] : [],
    jobs: jobs[role],
  }
}

function addTasks({ splits, seed }: LoadTasks): NewEvent[] {
  return splits.flatMap(({ split, limit }) => {
    const tasks = simulatedTasks(split, limit, seedOf(seed, split))
    return tasks
      .map(
        (task, index): NewEvent => ({
          type: 'TaskAdded',
          data: { slot: slotName(split, index), split, index, total: tasks.length, task },
        }),
      )
      .reverse()
  })
}

/**
 * Reads figures of the models' versions from the log, as far as they are needed. One reading runs at a time, because
 * many rollouts ask at once.
 */
function openVersions(log: LogClient) {
  const versions = simulatedVersions()
  let next = 1
  let reading: Promise<void> | null = null

  async function readOn(): Promise<void> {
    const page = await readEvents(log, next, ['PolicyUpdated', 'RewardModelUpdated'])
    for (const event of page.events) versions.apply(event)
    next = page.next
  }

  return {
    async at(policyVersion: number, rewardModelVersion: number) {
      // A reading that was under way may have begun too early for these.
      for (let attempt = 0; attempt < 2 && !versions.has(policyVersion, rewardModelVersion); attempt++) {
        reading ??= readOn().finally(() => {
          reading = null
        })
        await reading
      }
      return versions.at(policyVersion, rewardModelVersion)
    },
  }
}
