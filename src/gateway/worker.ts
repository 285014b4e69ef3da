/** The gateway as a worker of a run's environment. Agents outside play the rollouts that the run requests. */
import { rolloutQueue } from '../actors/environment/rollout-queue.ts'
import type { Targets } from '../actors/learner/targets.ts'
import { openTaskBook } from '../actors/rollout/log-queries.ts'
import type { JobContext, Worker } from '../actors/runtime/worker.ts'
import type { Config } from '../config.ts'
import { explain } from '../errors.ts'
import type { EventData, NewEvent } from '../events/catalogue.ts'
import type { LogClient } from '../events/log-client.ts'
import { keepImages } from './images.ts'
import type { Assignment } from './rollouts.ts'
import type { Offers } from './source.ts'

type Request = EventData<'RolloutRequested'>

/** Time that a rollout waits for an agent, including the agent's own time. Agents may come tomorrow. */
const OFFERED_MS = 24 * 3_600_000

/** Most rollouts that a gateway offers or that agents play at a time. */
const ROLLOUTS_AT_A_TIME = 512

export function gatewayWorker(
  config: Config,
  log: LogClient,
  {
    offers,
    targets,
    counters,
  }: {
    readonly offers: Offers
    readonly targets: Targets
    readonly counters: () => Readonly<Record<string, number>>
  },
): Worker {
  const tasks = openTaskBook(log)
  const deadlineMs = config.run.deadlines.rolloutSeconds * 1000

  /** Resolves when an agent has reported its outcome or its time is over. The events are in the log then. */
  async function play(request: Request, { beginWait, signal, event }: JobContext): Promise<NewEvent[]> {
    const { rollout } = request
    const task = await tasks.find(request.task)
    // No agent begins with an older model while the servers still load the requested one.
    await targets.settled(request.policyVersion, 2 * config.policy.publish.expert.ackSeconds * 1000)
    let endWait = beginWait(`an agent for ${rollout}`, 'agents', deadlineMs)
    try {
      return await new Promise((resolve, reject) => {
        const cause = event?.id ?? null
        const assignment: Assignment = {
          request,
          task,
          deadlineMs,
          claimed(agent) {
            endWait()
            endWait = beginWait(`the outcome of ${rollout}`, agent, deadlineMs)
            const claim = { rollout, task: task.id, agent, deadlineSeconds: deadlineMs / 1000 }
            log.append([{ type: 'RolloutClaimed', data: claim }], { cause }).catch(reject)
          },
          async finish(events, images) {
            try {
              await keepImages(log, images)
              await log.append(events, { cause })
              resolve([])
            } catch (error) {
              reject(error)
              throw new Error(`the end of ${rollout} could not be kept: ${explain(error)}`)
            }
          },
        }
        const withdraw = offers.offer(assignment)
        signal.addEventListener('abort', () => {
          withdraw()
          resolve([])
        })
        if (signal.aborted) resolve([])
      })
    } finally {
      endWait()
    }
  }

  return {
    jobs: { play },
    queues: [{ ...rolloutQueue(OFFERED_MS), concurrency: ROLLOUTS_AT_A_TIME }],
    counters,
  }
}
