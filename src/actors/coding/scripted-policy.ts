/** A policy without a model for the coding setting: reference solutions, and copies of them with one fault. It does not learn. */
import type { Config } from '../../config.ts'
import { scriptedProgram } from '../../environments/coding/scripted.ts'
import type { OpenSetting } from '../../environments/setting.ts'
import { RlError } from '../../errors.ts'
import type { LogClient } from '../../events/log-client.ts'
import { unchangedVersion } from '../decider/fold.ts'
import type { Train } from '../decider/jobs.ts'
import { updatedEvents } from '../learner/checkpoints.ts'
import type { ActReply, ActRequest } from '../rollout/act.ts'
import { ACT_SERVICE, serveAct } from '../rollout/act-service.ts'
import { openTaskBook } from '../rollout/log-queries.ts'
import type { OpenedWorker } from '../runtime/worker.ts'
import { codingOf } from './coding-of.ts'

export function openScriptedPolicy(config: Config, opened: OpenSetting, log: LogClient): OpenedWorker {
  const coding = codingOf(opened, 'acting')
  const tasks = openTaskBook(log)
  const { policyAccuracy } = config.simulation

  async function actOne({ task, seed }: ActRequest): Promise<ActReply> {
    const problem = await coding.problem(await tasks.find(task))
    if (problem.solutions.length === 0)
      throw new RlError(`the problem '${problem.id}' has no reference solution`, {
        code: 'coding.no-solution',
        hint: 'the scripted policy needs one for every problem; use another policy.provider',
      })
    const program = scriptedProgram(problem, policyAccuracy, seed)
    return { ...REPLY, action: `\`\`\`python\n${program}\n\`\`\`` }
  }

  return {
    note: `scripted, right with probability ${policyAccuracy}`,
    worker: {
      services: { [ACT_SERVICE]: serveAct((requests) => Promise.all(requests.map(actOne))) },
      async perform({ kind, input }) {
        const unchanged =
          kind === 'cold-start'
            ? { ...unchangedVersion(0, ''), stopped: null }
            : unchangedVersion((input as Train).version, 'a script does not learn')
        return updatedEvents('policy', { ...unchanged, metrics: { simulated: 1 } })
      },
    },
  }
}

const REPLY: Omit<ActReply, 'action'> = {
  invalid: null,
  fits: true,
  continues: false,
  tokens: null,
  usage: { promptTokens: 0, cachedTokens: 0, completionTokens: 0 },
}
