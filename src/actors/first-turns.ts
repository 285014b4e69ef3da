/**
 * Builds the first text that the policy reads, with the code that plays rollouts: its prompts, its tokenizer, and the
 * packing of both. `--dry-run` shows it. A start is refused if none of it fits the model.
 */

import { policyWorkerOf } from '../config/roles.ts'
import type { Config } from '../config.ts'
import type { PolicyConfig } from '../config-schema/sections.ts'
import { openSetting } from '../environments/open.ts'
import type { Episode, Task } from '../environments/port.ts'
import type { OpenSetting } from '../environments/setting.ts'
import { loadSetting } from '../environments/settings.ts'
import { tasksOf } from '../environments/split-tasks.ts'
import { RlError } from '../errors.ts'
import { isHubName } from '../models/hub.ts'
import { isPreset } from '../models/local/presets.ts'
import type { ChatMessage, GenerateRequest } from '../models/port.ts'
import { seedOf } from '../random.ts'
import { isSettingFault } from '../user-code.ts'
import { sourceOf } from './decider/task-counts.ts'
import type { Acting } from './policy/acting.ts'
import type { ReadingModel } from './policy/local-acting.ts'
import { samplingOf } from './policy/sampling.ts'
import type { ActRequest } from './rollout/act.ts'

/** A task with the policy's first request. */
export type FirstTurn = {
  readonly task: Task
  /** Text as the model reads it. */
  readonly text: string
  /** Number of tokens of the text. Null if an endpoint counts them. */
  readonly tokens: number | null
  /** First and last tokens, each with its number. Null if the text itself is spelled in tokens, or an endpoint makes them. */
  readonly spelled: string | null
  /** Whether an action fits behind it. */
  readonly fits: boolean
}

/** A task that cannot be started. */
type NoTurn = { readonly task: Task; readonly fault: RlError }

export type FirstTurns = {
  /** One line on how the policy is asked. */
  readonly how: string
  readonly turns: readonly (FirstTurn | NoTurn)[]
}

/** Number of tasks that are begun before a start is refused because none fits. */
const MOST_TRIED = 32

/**
 * @param count of tasks
 * @param vocabulary of a model that is trained from scratch: of the cold start, or of these turns alone, which gives no more tokens
 * @throws RlError `environment.empty-split`, and for prompts, folders and templates that a rollout could not be
 *   played with
 */
export async function firstTurns(
  config: Config,
  opened: OpenSetting,
  { count, vocabulary }: { readonly count: number; readonly vocabulary: 'cold-start' | 'turns' },
): Promise<FirstTurns> {
  const all = await tasksOf(opened.environment, 'train', sourceOf('train', config.environment))
  const tasks = all.slice(0, count)
  const begun = await Promise.all(tasks.map((task, index) => begin(config, opened, task, index)))
  const starts = begun.flatMap((one) => ('fault' in one ? [] : [one]))
  const [{ fault } = { fault: undefined }] = begun.flatMap((one) => ('fault' in one ? [one] : []))
  if (starts.length === 0 && fault) throw fault
  const { how, read } = await readerOf(config, opened, starts, vocabulary)
  return {
    how,
    turns: begun.map((one) =>
      'fault' in one ? one : { task: one.task, ...read(requestOf(one, config.run.seed)) },
    ),
  }
}

/** @throws RlError `config.invalid` if a local model's context holds none of the first turns */
export async function checkFirstTurns(config: Config): Promise<void> {
  const setting = await loadSetting(config.environment)
  const isLocal = !setting.simulated && policyWorkerOf(config, setting) === 'local'
  // The size of an endpoint's context is not known here. A setting with screens takes long to start. A hub's files may
  // not be here yet.
  if (!isLocal || config.environment.player !== 'own' || setting.pictures || isHubName(config.policy.model))
    return
  const opened = await openSetting(config)
  try {
    let shortest: FirstTurn | undefined
    for (const count of [3, MOST_TRIED]) {
      const { turns } = await firstTurns(config, opened, { count, vocabulary: 'turns' })
      const read = turns.flatMap((turn) => ('fault' in turn ? [] : [turn]))
      if (read.some(({ fits }) => fits)) return
      ;[shortest] = [...read].sort((a, b) => (a.tokens ?? 0) - (b.tokens ?? 0))
    }
    if (shortest) throw tooSmall(config.policy, shortest)
  } finally {
    await opened.environment.close?.()
  }
}

function tooSmall(policy: PolicyConfig, { task, tokens }: FirstTurn): RlError {
  const ofPreset = isPreset(policy.model) || policy.acting === 'choices'
  const context = ofPreset ? `policy.contextTokens: ${policy.contextTokens}` : `policy.model: its context`
  return new RlError(
    `${context} holds no first turn with an action: the shortest that was tried, of task '${task.id}', has ${tokens} tokens`,
    {
      code: 'config.invalid',
      hint: ofPreset
        ? 'raise policy.contextTokens'
        : 'choose a model with a longer context, or lower policy.maxTokens',
    },
  )
}

type Start = { readonly task: Task; readonly episode: Episode; readonly index: number }

async function begin(
  { run, environment }: Config,
  opened: OpenSetting,
  task: Task,
  index: number,
): Promise<Start | NoTurn> {
  try {
    const options = { seed: seedOf(run.seed, 'dry-run', index), maxSteps: environment.maxSteps }
    const episode = await opened.environment.reset(task, options)
    // Only its first turn is read.
    await opened.environment.release?.(episode)
    return { task, index, episode }
  } catch (error) {
    // One bad task is no reason not to start.
    if (isSettingFault(error)) return { task, fault: error }
    throw error
  }
}

function requestOf({ task, episode, index }: Start, seed: number): ActRequest {
  const { observation, admissible } = episode.turn
  return {
    rollout: 'dry-run',
    task: task.id,
    kind: task.kind,
    goal: task.goal,
    observations: [observation],
    actions: [],
    frames: [],
    admissible,
    ...(episode.tools ? { tools: episode.tools } : {}),
    packedTokens: 0,
    policyVersion: 0,
    evaluation: false,
    seed: seedOf(seed, 'dry-run-act', index),
  }
}

type Read = (request: ActRequest) => Omit<FirstTurn, 'task'>
type Reader = { readonly how: string; readonly read: Read }

async function readerOf(
  config: Config,
  opened: OpenSetting,
  starts: readonly Start[],
  vocabulary: 'cold-start' | 'turns',
): Promise<Reader> {
  const sampling = samplingOf(config.policy, config.evaluation)(false)
  if (policyWorkerOf(config, opened.setting) !== 'local') {
    const { actingByPrompt } = await import('./policy/endpoint-worker.ts')
    const acting = actingByPrompt(opened, config.policy)
    const screens = config.policy.frames > 0 ? `, with the last ${config.policy.frames} screens` : ''
    return {
      how: `as the endpoint is asked${screens}`,
      read: (request) => ({
        text: promptText(acting(request, sampling).request),
        tokens: null,
        spelled: null,
        fits: true,
      }),
    }
  }
  const { actingOf } = await import('./policy/local-acting.ts')
  const { model, spelled } = await readingModel(config, opened, starts, vocabulary)
  const acting: Acting = actingOf(model, config.policy, opened)
  // A prompt that does not fit is shown too.
  const whole = {
    ...model,
    describe: () => ({ ...model.describe(), contextTokens: Number.MAX_SAFE_INTEGER }),
  }
  const unbounded: Acting = actingOf(
    whole,
    { ...config.policy, contextTokens: Number.MAX_SAFE_INTEGER },
    opened,
  )
  return {
    how: spelled ? 'token by token, as the model reads them' : 'as the model reads them, then token by token',
    read(request) {
      const asked = unbounded(request, sampling).request
      const tokens = asked && 'tokens' in asked.prompt ? Array.from(asked.prompt.tokens) : []
      const text = spelled
        ? tokens.map((token) => model.tokenizer.tokenText(token)).join(' ')
        : model.tokenizer.decode(tokens, { special: true })
      return {
        text,
        tokens: tokens.length,
        spelled: spelled ? null : spelledOut(tokens, model.tokenizer.tokenText),
        fits: acting(request, sampling).request !== null,
      }
    },
  }
}

/** Tokens that are shown of a long prompt: a template's beginning, and the end that asks for the answer. */
const SHOWN_TOKENS = { first: 64, last: 16 }

/** Returns tokens as in the vocabulary, e.g. `1 "<|im_start|>" 872 "user"`. */
function spelledOut(tokens: readonly number[], textOf: (token: number) => string): string {
  const { first, last } = SHOWN_TOKENS
  const told = tokens.map((token) => `${token} ${JSON.stringify(textOf(token))}`)
  const leftOut = tokens.length - first - last
  if (leftOut <= 0) return told.join(' ')
  return [...told.slice(0, first), `[... ${leftOut} tokens ...]`, ...told.slice(-last)].join(' ')
}

/** Returns the reading part of a model: its tokenizer and its context, without any weights. */
async function readingModel(
  config: Config,
  opened: OpenSetting,
  starts: readonly Start[],
  vocabulary: 'cold-start' | 'turns',
): Promise<{ readonly model: ReadingModel; readonly spelled: boolean }> {
  const { createTokenizer } = await import('../models/local/tokenizer.ts')
  const { policy } = config
  const spelled = isPreset(policy.model)
  const { files, contextTokens } = spelled
    ? {
        files: await (await import('./policy/first-vocabulary.ts')).firstTokenizer(config, opened, {
          shown: vocabulary === 'turns' ? starts : null,
        }),
        contextTokens: policy.contextTokens,
      }
    : await folderOf(policy.model)
  const tokenizer = createTokenizer(files, policy.model)
  const model: ReadingModel = {
    tokenizer,
    describe: () => ({
      name: policy.model,
      provider: 'local',
      contextTokens,
      parameters: null,
      backend: null,
    }),
    encode: (text) => tokenizer.encode(text),
    decode: (tokens) => tokenizer.decode(tokens),
  }
  return { model, spelled }
}

async function folderOf(model: string) {
  const { readModelFolder } = await import('../models/local/model-folder.ts')
  const { tokenizer, config } = await readModelFolder(model)
  return { files: tokenizer, contextTokens: config.contextTokens }
}

/** Returns a prompt in words: its messages, each below its role. */
function promptText(request: GenerateRequest | null): string {
  if (request === null || !('messages' in request.prompt)) return ''
  const { messages, tools = [] } = request.prompt
  const told = messages.map(({ role, content }: ChatMessage) => `[${role}]\n${contentText(content)}`)
  return [...told, ...tools.map(({ name, description }) => `[tool] ${name}: ${description}`)].join('\n')
}

function contentText(content: ChatMessage['content']): string {
  if (typeof content === 'string') return content
  return (content ?? []).map((part) => (part.type === 'text' ? part.text : '[screen]')).join('\n')
}
