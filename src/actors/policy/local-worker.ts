import type { Config } from '../../config.ts'
import { type OpenSetting, partOf } from '../../environments/setting.ts'
import type { NewEvent } from '../../events/catalogue.ts'
import type { LogClient } from '../../events/log-client.ts'
import { itemAt } from '../../item-at.ts'
import { modelPlace } from '../../models/hub-folder.ts'
import { computeOf, type LocalModelFace } from '../../models/local/model.ts'
import { isPreset } from '../../models/local/presets.ts'
import { cachePlace } from '../../package.ts'
import type { Seed } from '../../random.ts'
import type { ColdStart } from '../decider/jobs.ts'
import { weightsFolder } from '../learner/checkpoints.ts'
import { createCounts } from '../learner/endpoint.ts'
import { residentLearner } from '../learner/resident-learner.ts'
import { residentModel } from '../learner/resident-model.ts'
import { SHORTENED } from '../learner/shortening.ts'
import { firstVersion } from '../learner/update.ts'
import { logprobTemperature } from '../learner/update-options.ts'
import type { ActReply, ActRequest } from '../rollout/act.ts'
import { SERVER_SERVICE, serveAddress } from '../rollout/server-service.ts'
import { faultTeller, type TellFault } from '../runtime/tell-fault.ts'
import type { JobContext } from '../runtime/worker.ts'
import { coldStartTexts, lessonsOf } from '../writing/cold-start.ts'
import { policyBatchOf } from './batch-of.ts'
import { coldStartAdapter, coldStartPolicy } from './cold-start.ts'
import { withDemonstrationTasks } from './demonstration-tasks.ts'
import { releasedLesson } from './lessons.ts'
import { actWith, choiceCodec, type LocalActor, openLocalActor, openPolicyModel } from './local-acting.ts'
import type { OpenedPolicy } from './opened-policy.ts'
import { withOutside } from './outside-trajectories.ts'
import { samplingOf } from './sampling.ts'
import { serveVersions } from './served-versions.ts'

/** Rollouts in flight began with two versions at most, as long as no queue of theirs is long. */
const MOST_SPARES = 2

type TaughtModel = {
  readonly folder: string
  readonly loss?: number | null
  readonly expertSuccess?: number | null
  readonly tooLong?: number
  readonly failed?: number
  /** Absent if nothing was taught. */
  readonly cached?: boolean
}

/** With `player: gateway` agents outside ask the policy, and nothing here acts. */
export async function openLocalPolicy(
  config: Config,
  opened: OpenSetting,
  log: LogClient,
): Promise<OpenedPolicy> {
  const { policy } = config
  const sampling = samplingOf(policy, config.evaluation)
  const forAgents = config.environment.player === 'gateway'
  const acting = forAgents ? null : partOf(opened.setting, 'acting', 'a local policy')
  const counted = createCounts()
  const trains = policy.training.enabled && policy.trainer === 'own'
  let base: LocalModelFace | null = null
  let zero: Promise<LocalModelFace> | null = null
  const resident = residentModel<LocalActor>({
    folderOf: (version) => weightsFolder(log, 'policy', version),
    open: (folder) => openActor(folder, trains),
    spares: Math.min(config.run.maxStaleness, MOST_SPARES),
    openSpare: (folder) => openActor(folder, false),
  })
  const served = forAgents ? await serveVersions(resident, () => base) : null

  async function openActor(folder: string, trains: boolean): Promise<LocalActor> {
    const actor = forAgents
      ? { model: await openPolicyModel(folder, config, trains), acting: asked }
      : await openLocalActor(folder, config, opened, { trains, onShortened: () => counted.add(SHORTENED) })
    base ??= actor.model
    return actor
  }

  /** Version 0, if its log-probs are logged. */
  async function openZero(): Promise<LocalModelFace | null> {
    if (!policy.expert.baseLogprobs) return null
    zero ??= weightsFolder(log, 'policy', 0).then((folder) => openPolicyModel(folder, config, false))
    return zero
  }

  async function act(requests: readonly ActRequest[], signal: AbortSignal): Promise<ActReply[]> {
    const replies = new Map<ActRequest, ActReply>()
    const together = [...byVersion(requests)].map(([version, own]) =>
      resident.use(version, async (actor) => {
        const of = ({ evaluation }: ActRequest) => sampling(evaluation)
        const answers = await actWith(actor, own, of, signal, await openZero())
        for (const [i, reply] of answers.entries()) replies.set(itemAt(own, i), reply)
      }),
    )
    await Promise.all(together)
    return requests.map((request) => replies.get(request)!)
  }

  async function coldStart({ seed }: ColdStart, context: JobContext): Promise<NewEvent[]> {
    const startedMs = performance.now()
    const taught = await taughtModel(seed, faultTeller(context))
    const { folder, loss = null, expertSuccess = null, tooLong = 0, failed = 0, cached } = taught
    return firstVersion('policy', log, folder, async () => {
      const { parameters, backend } = await resident.use(0, async ({ model }) => model.describe())
      return {
        metrics: {
          parameters: parameters ?? 0,
          ...(tooLong > 0 ? { demonstrationsTooLong: tooLong } : {}),
          ...(failed > 0 ? { failedDemonstrations: failed } : {}),
        },
        timing: {
          ...(cached === undefined ? {} : { fromCache: cached ? 1 : 0 }),
          ...(loss === null ? {} : { loss }),
          ...(expertSuccess === null ? {} : { expertSuccess }),
          durationMs: Math.round(performance.now() - startedMs),
          backend: backend ?? '',
        },
      }
    })
  }

  /** Teaches a preset or an adapter on demonstrations. A released model whose weights all learn is taken unchanged. */
  async function taughtModel(seed: Seed, tell: TellFault): Promise<TaughtModel> {
    const { model: preset, contextTokens } = policy
    const { cacheMegabytes } = policy.expert
    const { demonstrations, updates } = policy.coldStart
    const { expertNoise, batch, learningRate } = policy.coldStart.expert
    const { rank, alpha } = policy.lora
    const { targets } = policy.lora.expert
    if (!isPreset(preset) && rank === null) return { folder: modelPlace(preset) }
    return withDemonstrationTasks(
      config,
      opened,
      demonstrations,
      async (demonstrated): Promise<TaughtModel> => {
        const { tokenBudget } = policy.training.expert
        const { maxSteps } = config.environment
        const settings = { updates, batch, learningRate, contextTokens, tokenBudget, seed }
        const resources = {
          cache: cachePlace('cold-start'),
          compute: computeOf(config),
          report: (message: string) => void process.stdout.write(`${message}\n`),
          tasks: demonstrated.tasks,
          tell,
        }
        if (!isPreset(preset)) {
          const lesson = forAgents ? null : releasedLesson(opened, policy)
          return coldStartAdapter(
            {
              ...settings,
              expertNoise,
              maxSteps,
              base: preset,
              // Nothing is taught without a lesson, and the identity of the start says so.
              updates: lesson ? updates : 0,
              lora: { rank: rank!, alpha: alpha ?? 2 * rank!, targets },
              cacheBytes: cacheMegabytes * 1e6,
            },
            { opened: demonstrated, ...resources },
            lesson,
          )
        }
        if (acting?.kind === 'texts')
          return coldStartTexts(
            preset,
            { ...settings, noise: expertNoise },
            { ...resources, opened, lessons: lessonsOf(opened.setting, acting) },
          )
        return coldStartPolicy(
          // The order of the keys is a part of the digest under which models are kept.
          { preset, contextTokens, expertNoise, maxSteps, updates, batch, learningRate, tokenBudget, seed },
          { opened: demonstrated, ...resources },
        )
      },
    )
  }

  const training = { section: policy, run: config.run, compute: computeOf(config) }
  const { outside, outsideRule = 'rl-plus' } = config.learning
  const ownBatch = policyBatchOf(config, log)
  const batchOf =
    outside === undefined
      ? ownBatch
      : withOutside(ownBatch, {
          ...{ file: outside, rule: outsideRule, maxSteps: config.environment.maxSteps, opened, log },
          temperature: logprobTemperature(policy) ?? 1,
          tellsSteps: policy.training.aggregate === 'step',
          use: (version, work) =>
            resident.use(version, ({ model }) => work(model, choiceCodec(model, policy, opened))),
        })
  const learning = residentLearner('policy', resident, coldStart, batchOf, training, log)
  return {
    note: `${policy.provider} ${policy.model}${served === null ? '' : ` for agents on ${served.address.url}`}`,
    act,
    ...(served === null ? {} : { services: { [SERVER_SERVICE]: serveAddress(served.address) } }),
    counters: () => counted.counts(),
    ...learning,
    async close() {
      await served?.close()
      await (await zero)?.close()
      await learning.close?.()
    },
  }
}

/** Agents ask over HTTP. Nobody else asks this policy. */
const asked: LocalActor['acting'] = () => {
  throw new TypeError('agents outside act: no questions come over the bus')
}

/** Groups requests by version. With `maxStaleness` a tick may hold episodes of two versions. */
function byVersion(requests: readonly ActRequest[]): Map<number, ActRequest[]> {
  const groups = new Map<number, ActRequest[]>()
  for (const request of requests)
    groups.set(request.policyVersion, [...(groups.get(request.policyVersion) ?? []), request])
  return groups
}
