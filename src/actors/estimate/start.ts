/**
 * The first version of a judge of the form `estimate`: a small model of its own. It needs no policy, so one start serves all runs of a
 * setting. It is kept under the digest of all that it follows from.
 */

import { resolve } from 'node:path'
import { estimateRollouts, isFromFolder, labelledRollouts } from '../../config/labelled-rollouts.ts'
import type { Config } from '../../config.ts'
import { DEFAULT_MODEL } from '../../config-schema/endpoint.ts'
import { openSetting } from '../../environments/open.ts'
import { identityOf, type OpenSetting } from '../../environments/setting.ts'
import { RlError } from '../../errors.ts'
import { type Compute, computeOf, type LocalModelFace, openLocalModel } from '../../models/local/model.ts'
import { isPreset, type PresetName, presetConfig } from '../../models/local/presets.ts'
import { createTokenizer } from '../../models/local/tokenizer.ts'
import { trainWordTokenizer } from '../../models/local/word-tokenizer.ts'
import type { Seed } from '../../random.ts'
import { type KeptModel, keptModel } from '../learner/kept-model.ts'
import { digestOfTree } from '../own-files.ts'
import { demonstrationFaults } from '../policy/demonstration-faults.ts'
import { vocabularyOf } from '../policy/vocabulary.ts'
import { codecOf, viewOf } from '../rollout/packing.ts'
import type { TellFault } from '../runtime/tell-fault.ts'
import { ESTIMATE_WORDS, estimateCodecOf } from './form.ts'
import { type EstimateTeaching, measureEstimates, teachEstimates } from './teaching.ts'

/** Raised when the same settings would give another judge. */
const VERSION = 1

/** Seed of its tasks, far from any seed of a person, and from those of demonstrations and labelled rollouts. */
const TEACHING_SEED = 1_000_000_321

/** Seed of all that is drawn. It is no run's: runs share the judge. */
const SEED: Seed = [TEACHING_SEED, 0]

/** Tokens of a step's estimate, with the mark that asks for it. */
const ESTIMATE_TOKENS = 3

/**
 * Finds the first version, or makes it. If the config names a folder, its judge is the first version: nothing is taught, and it is
 * measured on this setting.
 * @throws RlError `estimate.other-model` if the folder's model is no such judge
 */
export async function startedEstimates(
  config: Config,
  opened: OpenSetting,
  cache: string,
  { report, tell }: { readonly report: (message: string) => void; readonly tell: TellFault },
): Promise<KeptModel> {
  const options = teachingOf(config)
  const { environment, policy } = config
  const contextTokens = policy.contextTokens + ESTIMATE_TOKENS * environment.maxSteps
  const preset = presetOf(config)
  const from = isFromFolder(config) ? resolve(config.rewardModel.model) : null
  const own = await openSetting({
    ...config,
    environment: {
      ...environment,
      seed: TEACHING_SEED,
      tasks: environment.source === 'data' ? null : labelledRollouts(config),
    },
  })
  try {
    const tasks = await own.environment.tasks(environment.splits.train ?? 'train')
    const vocabulary = await vocabularyOf(own, tasks, options, demonstrationFaults(tell))
    const words = [...vocabulary.words, ...ESTIMATE_WORDS]
    const { source, data, difficulty, name } = environment
    const read = { temperature: config.rewardModel.temperature, topP: config.rewardModel.expert.topP }
    return await keptModel({
      cache,
      name: 'estimates',
      // The order of the keys is a part of the digest.
      identity: {
        ...(from === null ? {} : { from: await digestOfTree(from) }),
        ...{ VERSION, preset, contextTokens, options, read },
        ...{ name, source, data, difficulty, ...vocabulary, words },
        ...(source === 'data' ? { tasks: tasks.map(({ id }) => id) } : {}),
        ...identityOf(opened),
      },
      compute: computeOf(config),
      open() {
        if (from !== null) return openJudge(from, { contextTokens, ...computeOf(config) })
        const tokenizer = trainWordTokenizer({ ...vocabulary, words })
        const { size, encode } = createTokenizer(tokenizer)
        return openLocalModel({
          config: presetConfig(preset, { vocabSize: size, contextTokens, endToken: codecOf(encode).end }),
          ...{ tokenizer, seed: SEED[0], name: `estimates (${preset})`, trains: true },
          ...computeOf(config),
        })
      },
      teach: (model) => {
        const codec = estimateCodecOf(codecOf(model.encode, viewOf(own)))
        const start = from === null ? teachEstimates : measureEstimates
        return start({ model, codec, opened: own, tasks, report }, { ...options, ...read })
      },
      report,
    })
  } finally {
    // Else its browser or sandboxes would stay for the whole run.
    await own.environment.close?.()
  }
}

/** Opens a judge of the form `estimate` that was taught elsewhere. */
async function openJudge(
  folder: string,
  { contextTokens, ...compute }: Compute & { readonly contextTokens: number },
): Promise<LocalModelFace> {
  const model = await openLocalModel({ folder, ...compute })
  const tokens = ESTIMATE_WORDS.map((word) => model.encode(word).join(' '))
  const most = model.describe().contextTokens
  const wrong =
    new Set(tokens).size < tokens.length || tokens.some((token) => token.includes(' '))
      ? 'its vocabulary lacks the words of an estimate'
      : most < contextTokens
        ? `it reads ${most} tokens, and an episode with its estimates has up to ${contextTokens}`
        : null
  if (wrong === null) return model
  await model.close()
  throw new RlError(`rewardModel.model: ${folder} holds no judge of the form estimate: ${wrong}`, {
    code: 'estimate.other-model',
    hint: 'name checkpoints/reward-model/00000 of a run with rewardModel.form=estimate, or leave it out',
  })
}

/** A judge that begins with no policy has a preset of its own. The default is one of four layers. */
function presetOf({ rewardModel: { model } }: Config): PresetName {
  return isPreset(model) && model !== DEFAULT_MODEL ? model : 'nano4'
}

function teachingOf({ rewardModel, environment }: Config): Omit<EstimateTeaching, 'temperature' | 'topP'> {
  const { batch, learningRate } = rewardModel.coldStart.expert
  return {
    ...estimateRollouts({ rewardModel }),
    batch,
    learningRate,
    tokenBudget: rewardModel.training.expert.tokenBudget,
    maxSteps: environment.maxSteps,
    seed: SEED,
  }
}
