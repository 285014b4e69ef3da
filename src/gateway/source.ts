/** Sources of rollouts for agents: a run's queue, or the agents themselves. */

import { rolloutName, slotName } from '../actors/decider/names.ts'
import type { Task } from '../environments/port.ts'
import { RlError } from '../errors.ts'
import type { EventData } from '../events/catalogue.ts'
import type { LogClient } from '../events/log-client.ts'
import { apiError } from '../openai-api/errors.ts'
import { seedOf } from '../random.ts'
import { keepImages } from './images.ts'
import type { Assignment } from './open-rollout.ts'

type Wish = {
  /** Id of a task, or a task of the agent's own. Any task will do if it is absent. */
  readonly task?: string | Pick<Task, 'id' | 'goal' | 'kind' | 'recipe'>
  readonly waitMs: number
  readonly signal: AbortSignal
}

export type RolloutSource = {
  /**
   * Returns a rollout for an agent, or null if none came in time. Errors: ApiError 400 if the wish cannot be met here.
   */
  readonly take: (wish: Wish) => Promise<Assignment | null>
  /** Returns an assignment whose agent left before the answer. */
  readonly giveBack: (assignment: Assignment) => void
}

export type Offers = RolloutSource & {
  /** Offers a rollout to agents. Returns a function that withdraws it. */
  readonly offer: (assignment: Assignment) => () => void
}

/** Agents of production tell their outcome when it is known. */
const OWN_OUTCOME_MS = 86_000_000

type Waiting = { readonly wish: Wish; readonly give: (assignment: Assignment) => void }

/** The rollouts that a run requests, in the order of the requests. */
export function openOffers(): Offers {
  const offered = new Set<Assignment>()
  const waiting = new Set<Waiting>()
  const suits = ({ task }: Wish, assignment: Assignment) => task === undefined || task === assignment.task.id

  function put(assignment: Assignment): void {
    for (const one of waiting)
      if (suits(one.wish, assignment)) {
        waiting.delete(one)
        one.give(assignment)
        return
      }
    offered.add(assignment)
  }

  return {
    offer(assignment) {
      put(assignment)
      return () => void offered.delete(assignment)
    },
    giveBack: put,
    async take(wish) {
      if (typeof wish.task === 'object')
        throw apiError(400, 'this gateway serves a run, which has tasks of its own: name one by its id', {
          param: 'task',
        })
      for (const assignment of offered)
        if (suits(wish, assignment)) {
          offered.delete(assignment)
          return assignment
        }
      if (wish.waitMs === 0 || wish.signal.aborted) return null
      return new Promise((resolve) => {
        const one: Waiting = {
          wish,
          give: (assignment) => {
            clear()
            resolve(assignment)
          },
        }
        const leave = () => {
          waiting.delete(one)
          clear()
          resolve(null)
        }
        const timer = setTimeout(leave, wish.waitMs)
        const clear = () => {
          clearTimeout(timer)
          wish.signal.removeEventListener('abort', leave)
        }
        wish.signal.addEventListener('abort', leave, { once: true })
        waiting.add(one)
      })
    },
  }
}

export type AgentsOwnOptions = {
  readonly log: LogClient
  readonly seed: number
  readonly deadlineMs: number
  readonly maxCalls: number
  /** Known events of the log: TaskAdded, and RolloutRequested below. */
  readonly tasks: readonly EventData<'TaskAdded'>[]
  readonly requests: readonly EventData<'RolloutRequested'>[]
}

/** Rollouts of tasks that agents bring, for recording an agent in its own run without a loop. */
export function agentsOwn({
  log,
  seed,
  deadlineMs,
  maxCalls,
  tasks,
  requests,
}: AgentsOwnOptions): RolloutSource {
  const known = new Map(tasks.map(({ slot, task }) => [task.id, { slot, task }]))
  const played = new Map<string, number>()
  for (const { task, index } of requests) played.set(task, Math.max(played.get(task) ?? 0, index + 1))

  async function taskOf(wish: Wish['task']): Promise<{ readonly slot: string; readonly task: Task }> {
    const id = typeof wish === 'object' ? wish.id : wish
    if (id === undefined)
      throw apiError(400, 'say which task this is: {"task": {"id": "...", "goal": "..."}}', { param: 'task' })
    const old = known.get(id)
    if (old) return old
    if (typeof wish !== 'object')
      throw apiError(404, `no agent has brought a task '${id}' yet`, { param: 'task' })
    const index = known.size
    const slot = slotName('train', index)
    const task: Task = { id, environment: 'agents', kind: wish.kind, goal: wish.goal, recipe: wish.recipe }
    known.set(id, { slot, task })
    await log.append([{ type: 'TaskAdded', data: { slot, split: 'train', index, total: index + 1, task } }])
    return { slot, task }
  }

  return {
    giveBack() {},
    async take(wish) {
      const { slot, task } = await taskOf(wish.task)
      const index = played.get(task.id) ?? 0
      played.set(task.id, index + 1)
      const request: EventData<'RolloutRequested'> = {
        rollout: rolloutName(1, slot, index),
        iteration: 1,
        purpose: 'train',
        split: 'train',
        slot,
        task: task.id,
        index,
        policyVersion: 0,
        seed: [...seedOf(seed, 'rollout', 1, slot, index)],
        maxSteps: maxCalls,
      }
      return {
        request,
        task,
        deadlineMs,
        claimed(agent) {
          const claim = { rollout: request.rollout, task: task.id, agent, deadlineSeconds: deadlineMs / 1000 }
          void log
            .append([
              { type: 'RolloutRequested', data: request },
              { type: 'RolloutClaimed', data: claim },
            ])
            .catch(() => {})
        },
        outcomeMs: OWN_OUTCOME_MS,
        async held(events, images) {
          await keepImages(log, images)
          await log.append(events)
        },
        async note(event) {
          await log.append([event])
        },
        async finish(events, images) {
          await keepImages(log, images)
          const appended = await log.append(events)
          if (appended.at(-1)?.duplicate)
            throw new RlError(`rollout ${request.rollout} has ended before`, { code: 'rollout.over' })
        },
      }
    },
  }
}
