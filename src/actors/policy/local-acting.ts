/** A local model that acts: opened from a folder, and asked for the next actions of many episodes. */
import type { PolicyConfig } from '../../config-schema/sections.ts'
import { type OpenSetting, partOf } from '../../environments/setting.ts'
import { RlError } from '../../errors.ts'
import { type Compute, computeOf, type LocalModelFace, openLocalModel } from '../../models/local/model.ts'
import { isPreset } from '../../models/local/presets.ts'
import { madeFitting } from '../learner/shortening.ts'
import type { ActReply, ActRequest } from '../rollout/act.ts'
import { type Codec, chatCodec, codecOf, viewOf } from '../rollout/packing.ts'
import { textCodec } from '../writing/packing.ts'
import { sampledTexts } from '../writing/text-acting.ts'
import { type Acting, type ActTurn, choiceActing, faultOf, NOT_FITTING, type Sampling } from './acting.ts'
import { actingByPrompt } from './endpoint-worker.ts'
import { givenAs, stepFigures } from './step-figures.ts'

export type LocalActor = { readonly model: LocalModelFace; readonly acting: Acting }

/** Parts of a model that read and write texts. They need no weights. */
export type ReadingModel = Pick<LocalModelFace, 'describe' | 'encode' | 'decode' | 'tokenizer'>

/** The part of a config that a local policy is opened with. */
type LocalPolicyConfig = Compute & { readonly policy: PolicyConfig }

export type LocalActorOptions = {
  /** True if the model will learn as well. Opening it then reserves memory for learning. */
  readonly trains?: boolean
  /** Told of each prompt that lost its oldest steps. */
  readonly onShortened?: () => void
}

/** Said to a model that chats before everything else. */
const SYSTEM = 'You act by short commands, one a turn, until the task is done. Answer with the command alone.'

/** @param folder a Hugging Face folder, e.g. a checkpoint of a run */
export async function openLocalActor(
  folder: string,
  config: LocalPolicyConfig,
  opened: OpenSetting,
  { trains = false, onShortened = () => {} }: LocalActorOptions = {},
): Promise<LocalActor> {
  const model = await openPolicyModel(folder, config, trains)
  try {
    return { model, acting: actingOf(model, config.policy, opened, onShortened) }
  } catch (error) {
    await model.close()
    throw error
  }
}

export function openPolicyModel(
  folder: string,
  config: LocalPolicyConfig,
  trains: boolean,
): Promise<LocalModelFace> {
  const cacheBytes = config.policy.expert.cacheMegabytes * 1e6
  return openLocalModel({ folder, ...computeOf(config), cacheBytes, trains })
}

/** Returns the acting that the config names: by choices, or by prompts that fit the model. */
export function actingOf(
  model: ReadingModel,
  policy: PolicyConfig,
  opened: OpenSetting,
  onShortened: () => void = () => {},
): Acting {
  const { contextTokens } = model.describe()
  const part = partOf(opened.setting, 'acting', 'a local policy')
  if (isPreset(policy.model))
    return part.kind === 'texts' && part.lessons
      ? sampledTexts(textCodec(model), contextTokens)
      : choiceActing(codecOf(model.encode, viewOf(opened)), contextTokens)
  if (policy.acting === 'choices')
    return choiceActing(releasedCodec(model), Math.min(contextTokens, policy.contextTokens))
  if (part.kind === 'texts' && part.tools && !model.tokenizer.templateReads('tools'))
    throw new RlError(`policy.model ${policy.model}: its chat template tells no tools`, {
      code: 'model.unsupported',
      hint: `environment ${opened.setting.name} is played by calls of tools: choose a model that was trained on them`,
    })
  if (policy.thinking !== null && !model.tokenizer.templateReads('enable_thinking'))
    throw new RlError(`policy.thinking: the chat template of ${policy.model} has no such switch`, {
      code: 'model.unsupported',
      hint: 'leave it out',
    })
  return promptsThatFit(actingByPrompt(opened, policy), model, policy, onShortened)
}

/**
 * Shortens prompts that leave no room for an answer: they lose their oldest steps (rule `oldest-first`). If a prompt is
 * too long without any step, it ends its own episode, but not the batch that it came with.
 */
function promptsThatFit(
  acting: Acting,
  model: ReadingModel,
  { thinking, historySteps }: Pick<PolicyConfig, 'thinking' | 'historySteps'>,
  onShortened: () => void,
): Acting {
  const { tokenizer } = model
  const variables = thinking === null ? {} : { enable_thinking: thinking }
  const { contextTokens } = model.describe()
  return (act, sampling) => {
    const turnOf = (shown: number) => {
      const turn = acting(act, sampling, shown)
      if (!turn.request || !('messages' in turn.request.prompt)) return turn
      const { messages, tools } = turn.request.prompt
      const tokens = tokenizer.encode(tokenizer.renderChat(messages, { variables, tools }))
      return { ...turn, request: { ...turn.request, prompt: { tokens } } }
    }
    const lengthOf = ({ request }: ActTurn) =>
      request && 'tokens' in request.prompt ? request.prompt.tokens.length : 0
    const { length } = act.actions
    const steps = Math.min(length, historySteps ?? length)
    const { made: turn, leftOut } = madeFitting(
      steps,
      turnOf,
      (turn) => lengthOf(turn) + sampling.maxTokens <= contextTokens,
    )
    if (lengthOf(turn) >= contextTokens) return { request: null, reply: () => NOT_FITTING }
    if (leftOut > 0) onShortened()
    return turn
  }
}

/**
 * Returns the codec of a model that others have trained: it uses the chat template. A model trained here from scratch
 * reads compact views.
 */
export function releasedCodec(model: Pick<LocalModelFace, 'tokenizer'>): Codec {
  return chatCodec(model.tokenizer, SYSTEM)
}

/** Returns the codec of a model that chooses commands. */
export function choiceCodec(model: ReadingModel, policy: PolicyConfig, opened: OpenSetting): Codec {
  return isPreset(policy.model) ? codecOf(model.encode, viewOf(opened)) : releasedCodec(model)
}

/** Returns one reply for each request, in their order. */
export async function actWith(
  { model, acting }: LocalActor,
  requests: readonly ActRequest[],
  samplingFor: (request: ActRequest) => Sampling,
  signal: AbortSignal,
  base: LocalModelFace | null = null,
): Promise<ActReply[]> {
  const turns = requests.map((request) => {
    const sampling = samplingFor(request)
    const { request: asked, reply } = turnOf(() => acting(request, sampling))
    return { reply, request: asked && sampling.entropies ? { ...asked, entropies: true } : asked }
  })
  const asked = turns.flatMap(({ request }) => request ?? [])
  const generations = await model.generate(asked, signal)
  const based = base ? await base.generate(asked.map(givenAs(generations)), signal) : []
  const { cacheTokens } = model.ready
  let next = 0
  return turns.map(({ request, reply }) => {
    if (request === null) return { ...reply(null), cacheTokens }
    const at = next++
    const generation = generations[at] ?? null
    const own = reply(generation)
    return { ...own, ...stepFigures(own, generation, based[at] ?? null), cacheTokens }
  })
}

/** Begins a turn. A fault of the setting's own code concerns one episode: the others get their answers. */
function turnOf(ask: () => ActTurn): ActTurn {
  try {
    const { request, reply } = ask()
    return {
      request,
      reply(generation) {
        try {
          return reply(generation)
        } catch (error) {
          return faultOf(error)
        }
      },
    }
  } catch (error) {
    const failed = faultOf(error)
    return { request: null, reply: () => failed }
  }
}
