/** The gateway as a worker of a run's environment. Agents outside play the rollouts that the run requests. */
import { rolloutQueue } from '../actors/environment/rollout-queue.ts'
import type { Targets } from '../actors/learner/targets.ts'
import { openTaskBook } from '../actors/rollout/log-queries.ts'
import type { JobContext, Worker } from '../actors/runtime/worker.ts'
import type { PolicyConfig, RunConfig } from '../config-schema/sections.ts'
import { explain } from '../errors.ts'
import type { EventData, NewEvent } from '../events/catalogue.ts'
import type { LogClient } from '../events/log-client.ts'
import { keepImages } from './images.ts'
import type { Assignment } from './open-rollout.ts'
import type { Offers } from './source.ts'

type Request = EventData<'RolloutRequested'>

/** Time that a rollout waits for an agent, including the agent's own time. Agents may come tomorrow. */
const OFFERED_MS = 24 * 3_600_000

/** Most rollouts that a gateway offers or that agents play at a time. */
const ROLLOUTS_AT_A_TIME = 512

export function gatewayWorker(
  { deadlines }: RunConfig,
  { publish }: PolicyConfig,
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
  const { rolloutSeconds, outcomeSeconds } = deadlines
  const deadlineMs = rolloutSeconds * 1000

  /** Begins the wait for an agent anew, for each rollout that is offered. */
  const waiting = new Set<() => void>()

  /** Resolves when an agent has reported its outcome or its time is over. The events are in the log then. */
  async function play(request: Request, { beginWait, signal, event }: JobContext): Promise<NewEvent[]> {
    const { rollout } = request
    const task = await tasks.find(request.task)
    // No agent begins with an older model while the servers still load the requested one.
    await targets.settled(request.policyVersion, 2 * publish.expert.ackSeconds * 1000)
    const awaitAgent = () => beginWait(`an agent for ${rollout}`, 'agents', deadlineMs)
    let endWait = awaitAgent()
    // Agents that take other rollouts are there: this one waits for its turn.
    const again = () => {
      endWait()
      endWait = awaitAgent()
    }
    waiting.add(again)
    try {
      return await new Promise((resolve, reject) => {
        const cause = event?.id ?? null
        const assignment: Assignment = {
          request,
          task,
          deadlineMs,
          claimed(agent) {
            waiting.delete(again)
            for (const other of waiting) other()
            endWait()
            endWait = beginWait(`the outcome of ${rollout}`, agent, deadlineMs)
            const claim = { rollout, task: task.id, agent, deadlineSeconds: deadlineMs / 1000 }
            log.append([{ type: 'RolloutClaimed', data: claim }], { cause }).catch(reject)
          },
          outcomeMs: outcomeSeconds === undefined ? null : outcomeSeconds * 1000,
          async held(events, images) {
            endWait()
            endWait = beginWait(`the late outcome of ${rollout}`, 'agents', (outcomeSeconds ?? 0) * 1000)
            await keepImages(log, images)
            await log.append(events, { cause })
          },
          async note(told) {
            await log.append([told], { cause })
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
      waiting.delete(again)
      endWait()
    }
  }

  return {
    jobs: { play },
    queues: [rolloutQueue(OFFERED_MS, ROLLOUTS_AT_A_TIME)],
    counters,
  }
}
