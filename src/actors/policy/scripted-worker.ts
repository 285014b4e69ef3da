/** The setting's expert in the place of a model (provider `simulated`), if actions are chosen. It does not learn. */
import type { Config } from '../../config.ts'
import type { Turn } from '../../environments/port.ts'
import { type OpenSetting, partOf } from '../../environments/setting.ts'
import { rng, seedOf } from '../../random.ts'
import { scriptedPolicyLearner } from '../learner/fixed-learner.ts'
import { type ActReply, type ActRequest, EMPTY_REPLY } from '../rollout/act.ts'
import { faultOf } from './acting.ts'
import type { OpenedPolicy } from './opened-policy.ts'

/**
 * Opens the chooser. A rollout follows the expert to its end with probability `simulation.policyAccuracy`, and else
 * acts at random.
 */
export function openScriptedChooser(config: Config, { setting, environment }: OpenSetting): OpenedPolicy {
  partOf(setting, 'expert', 'a scripted policy')
  const { policyAccuracy } = config.simulation

  function act({ rollout, observations, actions, admissible, seed }: ActRequest): ActReply {
    const follows = rng(seedOf(config.run.seed, 'scripted', rollout)).uniform() < policyAccuracy
    if (!follows) return { ...REPLY, action: rng(seed).pick(admissible) }
    const turn = (i: number): Turn => ({
      observation: observations[i],
      admissible: i === actions.length ? admissible : [],
      done: false,
      ended: null,
    })
    const expert = setting.expert?.(environment, turn(0))
    for (const [i, action] of actions.entries()) expert?.observe(action, turn(i + 1))
    return { ...REPLY, action: expert?.advise(turn(actions.length)) ?? admissible[0] }
  }

  function actOrFault(request: ActRequest): ActReply {
    try {
      return act(request)
    } catch (error) {
      return faultOf(error)
    }
  }

  return {
    note: `scripted, follows the expert in a share of ${policyAccuracy}`,
    learner: scriptedPolicyLearner(),
    act: async (requests) => requests.map(actOrFault),
  }
}

const REPLY: ActReply = { ...EMPTY_REPLY, fits: true }
