/** Builds the loop's trajectory from an agent's calls: one call is one step. */
import type { Prompting } from '../actors/policy/acting.ts'
import { packAnswer } from '../actors/policy/prompted-acting.ts'
import { type SegmentBuilder, segmentBuilder } from '../actors/rollout/segments.ts'
import { addUsage, placeOf } from '../actors/rollout/trajectory-parts.ts'
import { writeCall } from '../environments/tool-calls.ts'
import type { EventData } from '../events/catalogue.ts'
import type { Generation } from '../models/port.ts'
import type { Answer } from './answer.ts'
import { imageKeeper } from './images.ts'

type Request = EventData<'RolloutRequested'>
type Trajectory = EventData<'TrajectoryCompleted'>
type RecordedCall = EventData<'CallsRecorded'>['calls'][number]

/** The agent's word on how the rollout went. */
export type Outcome = {
  readonly outcome: Trajectory['outcome']
  readonly ended: Trajectory['ended']
  /** Last text that the agent saw. */
  readonly observation: string
}

/** Parts of an answer that are trained, as for a policy that plays itself. */
export type RecordedTraining = Pick<Prompting, 'trainReasoning'>

export type CallRecorder = {
  /** Adds an answered call. */
  readonly add: (call: {
    readonly messages: readonly unknown[]
    readonly tools: unknown
    readonly model: string
    readonly answer: Answer
  }) => void
  readonly steps: () => number
  readonly trajectory: (request: Request, outcome: Outcome, durationMs: number) => Trajectory
  readonly calls: (request: Request) => EventData<'CallsRecorded'>
  /**
   * Returns the conversation in the form of chat completions: what the agent said, with each answer in its place. A
   * conversation that begins anew follows the one before.
   */
  readonly transcript: () => readonly unknown[]
  /** Returns the files that the messages of the calls name. */
  readonly images: () => readonly Uint8Array[]
}

/** Records the calls of one rollout, in the order of their answers. */
export function callRecorder(training: RecordedTraining = { trainReasoning: false }): CallRecorder {
  const calls: RecordedCall[] = []
  const observations: string[] = []
  const actions: string[] = []
  const segments: SegmentBuilder = segmentBuilder()
  const images = imageKeeper()
  const usage = { promptTokens: 0, cachedTokens: 0, completionTokens: 0 }
  let trainable = true
  /** Messages of the last call, each as JSON. */
  let shown: readonly string[] = []
  let offered: string | null = null
  let packed: number[] = []

  /** Adds token ids to the open segment if the prompt begins with all of it, else to a new one. No text is tokenised again. */
  function pack(generation: Generation): void {
    const { promptTokens } = generation
    const continues = packed.length > 0 && promptTokens !== null && startsWith(promptTokens, packed)
    const columns = packAnswer(generation, training, continues ? packed.length : 0)
    if (!columns || !promptTokens || !generation.tokens) {
      trainable = false
      return
    }
    segments.add(actions.length, columns, continues)
    packed = [...promptTokens, ...generation.tokens]
  }

  return {
    add({ messages, tools, model, answer }) {
      const texts = messages.map(images.write)
      const kept = commonPrefix(shown, texts)
      const offer = tools === undefined || tools === null ? null : JSON.stringify(tools)
      // Token columns hold neither images nor sounds. An answer that a filter cut is not the policy's own end.
      if (messages.every(isText) && answer.finish !== 'content_filter') pack(answer.generation)
      else trainable = false
      observations.push(observationText(messages.slice(kept), kept > 0))
      actions.push(actionText(answer))
      calls.push({
        kept,
        messages: `[${texts.slice(kept).join(',')}]`,
        tools: offer === offered ? null : (offer ?? NO_TOOLS),
        answer: JSON.stringify(answer.message),
        model: model.slice(0, 256),
        finish: answer.finish,
      })
      addUsage(usage, answer.generation.usage)
      shown = texts
      offered = offer
    },
    steps: () => actions.length,
    trajectory: (request, { outcome, ended, observation }, durationMs) => ({
      ...placeOf(request),
      outcome,
      ended,
      steps: actions.length,
      observations: [...observations, observation],
      actions: [...actions],
      invalid: {},
      trainable,
      segments: trainable ? segments.build() : [],
      usage: { ...usage },
      timing: { durationMs: Math.round(durationMs) },
    }),
    calls: ({ rollout }) => ({ rollout, calls: [...calls] }),
    transcript: () =>
      calls.flatMap(({ kept, messages, answer }) => [
        ...newsOf(JSON.parse(messages) as unknown[], kept > 0),
        JSON.parse(answer) as unknown,
      ]),
    images: images.files,
  }
}

/** Tells that no tools are offered any more. */
const NO_TOOLS = '[]'

function startsWith(tokens: Int32Array, prefix: readonly number[]): boolean {
  return tokens.length >= prefix.length && prefix.every((token, i) => token === tokens[i])
}

function commonPrefix(a: readonly string[], b: readonly string[]): number {
  let length = 0
  while (length < a.length && length < b.length && a[length] === b[length]) length++
  return length
}

type Message = { readonly role?: unknown; readonly content?: unknown }

/** Returns what is new in messages since the last call. The agent repeats the answer of that call, which is no news. */
function newsOf(messages: readonly unknown[], goesOn: boolean): readonly Message[] {
  const told = messages as readonly Message[]
  return goesOn && told[0]?.role === 'assistant' ? told.slice(1) : told
}

/** Returns what the agent showed the model since its last call. */
function observationText(messages: readonly unknown[], goesOn: boolean): string {
  const news = newsOf(messages, goesOn)
  const parts = news.map(({ role, content }) =>
    news.length === 1 ? contentText(content) : `${String(role)}: ${contentText(content)}`,
  )
  return parts.join('\n')
}

/** Kinds of parts that are words. All other kinds, known or not, are none. */
const WORDS: ReadonlySet<unknown> = new Set(['text', 'refusal'])

/** Returns whether a message is words alone. Token columns hold neither images nor sounds. */
export function isText(message: unknown): boolean {
  const content = (message as { content?: unknown } | null)?.content
  return !Array.isArray(content) || content.every((part: { type?: unknown } | null) => WORDS.has(part?.type))
}

function contentText(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content
    .map((part: { type?: unknown; text?: unknown }) =>
      typeof part?.text === 'string' ? part.text : `[${String(part?.type ?? 'part')}]`,
    )
    .join('')
}

function actionText({ content, toolCalls }: Answer): string {
  const calls = toolCalls.map(({ function: { name, arguments: text } }) => writeCall(name, text))
  return [...(content === '' ? [] : [content]), ...calls].join('\n')
}
