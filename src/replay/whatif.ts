/**
 * Measures what a step was worth. In one half of the continuations the recorded action is done and a policy
 * goes on. In the other half the policy also chooses at that step. The difference of their shares of success
 * estimates the step's advantage under the policy, Q(s, a) - V(s), from rollouts alone. The reward model has
 * no part in it.
 */

import { openPolicyWorker } from '../actors/policy/worker.ts'
import { ACT_SERVICE, actIn } from '../actors/rollout/act-service.ts'
import { framesOf, pictureTaker } from '../actors/rollout/frames.ts'
import type { OpenEpisode } from '../actors/rollout/live-rollout.ts'
import { openTaskBook } from '../actors/rollout/log-queries.ts'
import { createPlayer, type Player } from '../actors/rollout/player.ts'
import type { RewardModelConfig } from '../config-schema/sections.ts'
import { openSetting, orClose } from '../environments/open.ts'
import type { Environment } from '../environments/port.ts'
import type { EventData } from '../events/catalogue.ts'
import type { LogReader } from '../events/log-reader.ts'
import { offlineLog } from '../events/offline-log.ts'
import { itemAt } from '../item-at.ts'
import { correlation, type Estimate, estimateDifference, wilson } from '../learning/interval.ts'
import { stepScore } from '../learning/reward.ts'
import { rng, seedOf } from '../random.ts'
import { configAt } from './config-at.ts'
import { episodeAt, type Recorded, recordedRollout } from './continue-from.ts'

type Trajectory = EventData<'TrajectoryCompleted'>

export type StepName = { readonly rollout: string; readonly step: number }

/** `kept`: the recorded action is done at the step. `open`: the policy chooses there. */
const ARMS = ['kept', 'open'] as const
type ArmName = (typeof ARMS)[number]

export type StepCredit = StepName & {
  readonly action: string
  /** Whether the recorded trajectory succeeded. */
  readonly succeeded: boolean
  /** Share of successes of each arm, with its 95 % interval. */
  readonly kept: Estimate
  readonly open: Estimate
  /** `kept` less `open`, with its 95 % interval: the causal credit of the step. */
  readonly credit: Estimate
  /** Mean verdict of the reward model on the step, in [-1, 1]. Null if it was not judged. */
  readonly vote: number | null
}

/** One continuation, as the child stream of its rollout keeps it. */
export type Continuation = {
  readonly trajectory: Trajectory
  /** Id of the event of the trajectory that it left. */
  readonly cause: string
}

export type WhatIfOptions = {
  readonly policyVersion: number
  /** Continuations of each arm. */
  readonly n: number
  /** Called for each continuation when it is over. */
  readonly onContinuation?: (continuation: Continuation) => void
}

export type WhatIf = {
  readonly creditOf: (step: StepName, options: WhatIfOptions) => Promise<StepCredit>
  readonly close: () => Promise<void>
}

/**
 * Opens the environment and the policy of a run, without its head.
 * @throws RlError `setting.simulated` if nothing is played
 */
export async function openWhatIf(log: LogReader): Promise<WhatIf> {
  const config = configAt(log, log.head().position)
  const opened = await openSetting(config)
  const { environment } = opened
  const client = offlineLog(log)
  const sees = config.policy.frames > 0
  const { worker } = await orClose(opened, openPolicyWorker(config, opened, client))
  const service = worker.services?.[ACT_SERVICE]
  if (!service) throw new TypeError('the policy answers no questions for actions')
  const player = createPlayer({
    environment,
    act: actIn(service),
    actDeadlineMs: config.run.deadlines.stepSeconds * 1000,
    ...(sees ? { look: pictureTaker(opened, client.putBlob) } : {}),
  })
  const tasks = openTaskBook(client)
  // Work with weights that are gone waits for ever: in a run its process would end.
  const broken = worker.broken?.then((error): never => {
    throw error
  })
  broken?.catch(() => {})
  return {
    async creditOf({ rollout, step }, options) {
      const recorded = recordedRollout(log, rollout, step)
      const task = await tasks.find(recorded.trajectory.task)
      const at = async (step: number) => {
        const open = await episodeAt(environment, task, recorded, step)
        return sees ? { ...open, frames: (await framesOf(client, rollout)).slice(0, step + 1) } : open
      }
      const before = await at(step)
      const after = await at(step + 1)
      const play = (arm: ArmName, from: OpenEpisode) =>
        playArm({ player, environment, recorded, task, step, arm, from }, options)
      const both = Promise.all([play('kept', after), play('open', before)])
      const [kept, open] = await (broken ? Promise.race([both, broken]) : both)
      const { actions, outcome } = recorded.trajectory
      return {
        rollout,
        step,
        action: itemAt(actions, step),
        succeeded: outcome.kind === 'scored' && outcome.success,
        kept,
        open,
        credit: estimateDifference(kept, open),
        vote: voteOn(log, rollout, step, config.rewardModel),
      }
    },
    async close() {
      player.stop()
      await worker.close?.()
      // Its sandboxes, browsers and desktops would keep the process for ever.
      await environment.close?.()
    },
  }
}

type Arm = {
  readonly player: Player
  readonly environment: Environment
  readonly recorded: Recorded
  readonly task: Parameters<Player['play']>[1]
  readonly step: number
  readonly arm: ArmName
  readonly from: OpenEpisode
}

async function playArm(
  { player, environment, recorded, task, step, arm, from }: Arm,
  { policyVersion, n, onContinuation }: WhatIfOptions,
): Promise<Estimate> {
  if (from.episode.turn.done) {
    const settled = (await environment.settle?.(from.episode)) ?? from.episode
    const value = settled.outcome() === 1 ? 1 : 0
    return { value, low: value, high: value, n }
  }
  const { request, id } = recorded
  const played = await Promise.all(
    Array.from({ length: n }, async (_, index) => {
      const trajectory = await player.play(
        {
          ...request,
          rollout: `${request.rollout}/from-${step}/policy-${policyVersion}/${arm}/${index}`,
          purpose: 'evaluation',
          split: 'what-if',
          index,
          policyVersion,
          seed: seedOf(request.seed, 'what-if', step, policyVersion, arm, index),
        },
        task,
        from,
      )
      onContinuation?.({ trajectory, cause: id })
      return trajectory
    }),
  )
  const successes = played.filter(({ outcome }) => outcome.kind === 'scored' && outcome.success).length
  return wilson(successes, n)
}

function voteOn(
  log: LogReader,
  rollout: string,
  step: number,
  { expected }: RewardModelConfig,
): number | null {
  const scored = log.byKey(`StepScored/${rollout}/${step}`)
  if (scored?.type !== 'StepScored') return null
  const { judgements, probability } = scored.data
  return stepScore(
    { scores: judgements.map(({ score }) => score), probability },
    expected ? 'expected' : 'sampled',
  )
}

/** Steps whose continuations are played together: they share each call of the policy. */
const STEPS_AT_A_TIME = 8

/** Measures steps of a run, some at a time. @throws RlError as `openWhatIf` and `creditOf` */
export async function creditsOf(
  log: LogReader,
  steps: readonly StepName[],
  optionsOf: (step: StepName) => WhatIfOptions,
): Promise<StepCredit[]> {
  const whatIf = await openWhatIf(log)
  try {
    const credits: StepCredit[] = []
    for (let at = 0; at < steps.length; at += STEPS_AT_A_TIME) {
      const some = steps.slice(at, at + STEPS_AT_A_TIME)
      credits.push(...(await Promise.all(some.map((step) => whatIf.creditOf(step, optionsOf(step))))))
    }
    return credits
  } finally {
    await whatIf.close()
  }
}

/** `count` of the steps that were judged, each as likely as any other, in order of the log. */
export function drawSteps(log: LogReader, count: number, seed: number): StepName[] {
  const steps: StepName[] = []
  for (const { data } of log.events({ types: ['StepScored'] }))
    steps.push({ rollout: data.rollout, step: data.step })
  const drawn = rng(seedOf(seed, 'what-if'))
    .shuffle(steps.map((_, index) => index))
    .slice(0, count)
  return drawn.sort((a, b) => a - b).map((index) => itemAt(steps, index))
}

/**
 * Returns Pearson's correlation of causal credit and votes over steps, with its 95 % interval. Returns null
 * if one is constant.
 */
export function creditAndVotes(credits: readonly StepCredit[]): Estimate | null {
  return correlation(
    credits.flatMap(({ credit, vote }) => (vote === null ? [] : [[credit.value, vote] as const])),
  )
}
