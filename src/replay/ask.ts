/**
 * Asks a policy what it would do at a step of a rollout. If it chooses among the admissible actions, the probability of
 * each is exact. Otherwise answers are drawn and counted.
 */

import { weightsFolder } from '../actors/learner/checkpoints.ts'
import { actWith, type LocalActor, openLocalActor } from '../actors/policy/local-acting.ts'
import { samplingOf } from '../actors/policy/sampling.ts'
import { openPolicyWorker } from '../actors/policy/worker.ts'
import type { Act, ActRequest } from '../actors/rollout/act.ts'
import { ACT_SERVICE, actIn } from '../actors/rollout/act-service.ts'
import { allowedColumns, choicePath } from '../actors/rollout/choices.ts'
import { framesOf } from '../actors/rollout/frames.ts'
import { openTaskBook } from '../actors/rollout/log-queries.ts'
import { policyWorkerOf } from '../config/roles.ts'
import type { Config } from '../config.ts'
import { openSetting, orClose } from '../environments/open.ts'
import { RlError } from '../errors.ts'
import type { LogClient } from '../events/log-client.ts'
import type { LogReader } from '../events/log-reader.ts'
import { offlineLog } from '../events/offline-log.ts'
import { itemAt } from '../item-at.ts'
import { seedOf } from '../random.ts'
import { configAt } from './config-at.ts'
import { episodeAt, recordedRollout } from './continue-from.ts'

/** An action that the policy may take at the step. */
type Choice = {
  readonly action: string
  /** Probability in [0, 1], or the share of the drawn answers. */
  readonly probability: number
  /** Number of draws. Null if the probability is exact. */
  readonly count: number | null
  /** Whether it is the recorded action. */
  readonly recorded: boolean
}

export type PolicyAnswer = {
  readonly rollout: string
  readonly step: number
  readonly policyVersion: number
  readonly recorded: string
  /** Temperature at which the policy is asked. Null if it is not known here. */
  readonly temperature: number | null
  /** The likeliest first. */
  readonly choices: readonly Choice[]
  /** Entropy in nats, of the probabilities or of the drawn shares. */
  readonly entropy: number
  /** Number of drawn answers. Null if the probabilities are exact. */
  readonly draws: number | null
}

export type AskOptions = {
  /** Left out: the version that played the rollout. */
  readonly policyVersion?: number
  /** Number of answers to draw if the policy has no closed list of choices. Left out: such a policy is refused. */
  readonly draws?: number
}

/** Choices that are scored at once. More would need much memory. */
const AT_ONCE = 16

/**
 * Resolves to what the policy of a run would do before action `step` of a rollout. Nothing is written.
 * @throws RlError `ask.no-choices` if the policy has no closed list of choices and nothing is to be drawn,
 *   `ask.not-fitting`, and those of `episodeAt`
 * @example await askPolicy(log, { rollout: '3/train-00012/5', step: 4 })
 */
export async function askPolicy(
  log: LogReader,
  { rollout, step }: { readonly rollout: string; readonly step: number },
  { policyVersion, draws }: AskOptions = {},
): Promise<PolicyAnswer> {
  const config = configAt(log, log.head().position)
  const recorded = recordedRollout(log, rollout, step)
  const version = policyVersion ?? recorded.trajectory.policyVersion
  const client = offlineLog(log)
  const samplingFor = samplingOf(config.policy, config.evaluation)
  const opened = await openSetting(config)
  const { environment } = opened
  let close: () => unknown = () => {}
  try {
    const task = await openTaskBook(client).find(recorded.trajectory.task)
    const { episode, observations, actions } = await episodeAt(environment, task, recorded, step)
    const frames = config.policy.frames > 0 ? (await framesOf(client, rollout)).slice(0, step + 1) : []
    const request: ActRequest = {
      ...{ rollout, task: task.id, kind: task.kind, goal: task.goal, observations, actions },
      ...(frames.length > 0 ? { frames } : {}),
      admissible: episode.turn.admissible,
      ...(episode.tools ? { tools: episode.tools } : {}),
      packedTokens: 0,
      policyVersion: version,
      seed: seedOf(recorded.request.seed, 'ask', step, version),
      evaluation: recorded.request.purpose === 'evaluation',
    }
    const about = {
      rollout,
      step,
      policyVersion: version,
      recorded: itemAt(recorded.trajectory.actions, step),
    }
    if (policyWorkerOf(config, opened.setting) === 'local') {
      const actor = await openLocalActor(await weightsFolder(client, 'policy', version), config, opened)
      close = () => actor.model.close()
      const sampling = samplingFor(request.evaluation)
      const turn = actor.acting(request, sampling)
      if (turn.request === null) throw notFitting(rollout, step)
      const { temperature } = sampling
      const prompt = turn.request.prompt
      if (turn.request.choices && 'tokens' in prompt) {
        const at = temperature > 0 ? temperature : 1
        const choices = turn.request.choices
        const probabilities = await scored(actor, Array.from(prompt.tokens), choices, at)
        return answerOf(
          about,
          at,
          null,
          new Map(request.admissible.map((one, i) => [one, itemAt(probabilities, i)])),
        )
      }
      const act: Act = (requests, signal) =>
        actWith(actor, requests, ({ evaluation }) => samplingFor(evaluation), signal)
      return answerOf(about, temperature, ...(await drawn(act, request, draws)))
    }
    if (draws === undefined) throw noChoices(rollout, step)
    const { act, end } = await workerOf(config, opened, client)
    close = end
    return answerOf(about, null, ...(await drawn(act, request, draws)))
  } finally {
    await close()
    // Its sandboxes, browsers and desktops would keep the process for ever.
    await environment.close?.()
  }
}

async function workerOf(config: Config, opened: Awaited<ReturnType<typeof openSetting>>, client: LogClient) {
  const { worker } = await orClose(opened, openPolicyWorker(config, opened, client))
  const service = worker.services?.[ACT_SERVICE]
  if (!service) throw new TypeError('the policy answers no questions for actions')
  return { act: actIn(service), end: () => worker.close?.() }
}

/** Probabilities of the choices after a prompt: each is the product over its tokens among those that are allowed. */
async function scored(
  { model }: LocalActor,
  prompt: readonly number[],
  choices: readonly (readonly number[])[],
  temperature: number,
): Promise<number[]> {
  const samples = choices.map((choice) => {
    const { mask, allowed } = choicePath(choice, choices)
    const { offsets, tokens } = allowedColumns([...prompt.map(() => []), ...allowed])
    return {
      tokens: Int32Array.from([...prompt, ...choice]),
      mask: Uint8Array.from([...prompt.map(() => 0), ...mask]),
      allowed: { offsets, tokens },
    }
  })
  const probabilities: number[] = []
  for (let at = 0; at < samples.length; at += AT_ONCE)
    for (const logprobs of await model.score(samples.slice(at, at + AT_ONCE), { temperature }))
      probabilities.push(Math.exp(logprobs.reduce((sum, one) => sum + one, 0)))
  return probabilities
}

type Drawn = readonly [draws: number, shares: ReadonlyMap<string, number>]

async function drawn(act: Act, request: ActRequest, draws: number | undefined): Promise<Drawn> {
  if (draws === undefined) throw noChoices(request.rollout, request.actions.length)
  const requests = Array.from({ length: draws }, (_, i) => ({
    ...request,
    rollout: `${request.rollout}/ask/${i}`,
    seed: seedOf(request.seed, i),
  }))
  const shares = new Map<string, number>()
  for (const { action, fault, fits } of await act(requests, AbortSignal.timeout(600_000))) {
    if (fault !== undefined) throw new RlError(`the policy failed: ${fault}`, { code: 'ask.failed' })
    if (!fits) throw notFitting(request.rollout, request.actions.length)
    shares.set(action, (shares.get(action) ?? 0) + 1 / draws)
  }
  return [draws, shares]
}

type About = Pick<PolicyAnswer, 'rollout' | 'step' | 'policyVersion' | 'recorded'>

function answerOf(
  about: About,
  temperature: number | null,
  draws: number | null,
  shares: ReadonlyMap<string, number>,
): PolicyAnswer {
  const choices = [...shares]
    .sort(([, a], [, b]) => b - a)
    .map(([action, probability]) => ({
      action,
      probability,
      count: draws === null ? null : Math.round(probability * draws),
      recorded: action === about.recorded,
    }))
  const entropy = choices.reduce((sum, { probability: p }) => (p > 0 ? sum - p * Math.log(p) : sum), 0)
  return { ...about, temperature, choices, entropy: Math.max(0, entropy), draws }
}

function noChoices(rollout: string, step: number): RlError {
  return new RlError(`the policy has no closed list of choices at step ${step} of '${rollout}'`, {
    code: 'ask.no-choices',
    hint: 'draw answers and count them: -n 16',
  })
}

function notFitting(rollout: string, step: number): RlError {
  return new RlError(`step ${step} of '${rollout}' does not fit into the context of the policy`, {
    code: 'ask.not-fitting',
    hint: 'ask at an earlier step',
  })
}
