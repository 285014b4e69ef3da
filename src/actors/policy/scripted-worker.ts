/** The setting's expert in the place of a model (provider `simulated`), if actions are chosen. It does not learn. */

import type { Turn } from '../../environments/port.ts'
import { type OpenSetting, partOf } from '../../environments/setting.ts'
import { itemAt } from '../../item-at.ts'
import { rng, seedOf } from '../../random.ts'
import { scriptedPolicyLearner } from '../learner/fixed-learner.ts'
import { type ActReply, type ActRequest, EMPTY_REPLY } from '../rollout/act.ts'
import { faultOf } from './acting.ts'
import type { OpenedPolicy } from './opened-policy.ts'

/**
 * Opens the chooser. A rollout follows the expert to its end with a probability, and else acts at random.
 *
 * @param accuracy the probability (`simulation.policyAccuracy`)
 * @param seed that of the run
 */
export function openScriptedChooser(
  { setting, environment }: OpenSetting,
  { accuracy, seed: runSeed }: { readonly accuracy: number; readonly seed: number },
): OpenedPolicy {
  partOf(setting, 'expert', 'a scripted policy')

  function act({ rollout, observations, actions, admissible, seed }: ActRequest): ActReply {
    const follows = rng(seedOf(runSeed, 'scripted', rollout)).uniform() < accuracy
    if (!follows) return { ...REPLY, action: rng(seed).pick(admissible) }
    const turn = (i: number): Turn => ({
      observation: itemAt(observations, i),
      admissible: i === actions.length ? admissible : [],
      done: false,
      ended: null,
    })
    const expert = setting.expert?.(environment, turn(0))
    for (const [i, action] of actions.entries()) expert?.observe(action, turn(i + 1))
    return { ...REPLY, action: expert?.advise(turn(actions.length)) ?? itemAt(admissible, 0) }
  }

  function actOrFault(request: ActRequest): ActReply {
    try {
      return act(request)
    } catch (error) {
      return faultOf(error)
    }
  }

  return {
    note: `scripted, follows the expert in a share of ${accuracy}`,
    learner: scriptedPolicyLearner(),
    act: async (requests) => requests.map(actOrFault),
  }
}

const REPLY: ActReply = { ...EMPTY_REPLY, fits: true }
