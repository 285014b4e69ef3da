/** Supervised fine-tuning on texts, pairs of prompt and completion, or chats. */

import { z } from 'zod'
import { RlError } from '../../errors.ts'
import { itemAt } from '../../item-at.ts'
import { rng, type Seed, seedOf } from '../../random.ts'
import { firstIssue, safeParse } from '../../safe-parse.ts'
import type { TrainableModel, TrainingSample, UpdateMetrics } from '../port.ts'
import type { Tokenizer } from './tokenizer.ts'

const message = z.strictObject({
  role: z.enum(['system', 'user', 'assistant', 'tool']),
  content: z.string(),
})
const recordSchema = z.union([
  z.strictObject({ prompt: z.string().min(1), completion: z.string() }),
  z.strictObject({ messages: z.array(message).min(2) }),
  z.strictObject({ text: z.string().min(1) }),
])

/**
 * A record has `prompt` and `completion` (trained), `messages` (the assistant's are trained), or `text` (trained from its second token on).
 */
export type FineTuneRecord = z.infer<typeof recordSchema>

/** @throws RlError `data.record` with the line's number */
export function parseRecords(jsonl: string, source: string): FineTuneRecord[] {
  return jsonl.split('\n').flatMap((line, i) => {
    if (line.trim() === '') return []
    const refuse = (cause?: unknown, why = '') =>
      new RlError(`${source}:${i + 1} is not a record${why}`, {
        code: 'data.record',
        hint: 'a line is {"prompt", "completion"}, {"messages": [{"role", "content"}]} or {"text"}',
        cause,
      })
    let json: unknown
    try {
      json = JSON.parse(line)
    } catch (cause) {
      throw refuse(cause)
    }
    const parsed = safeParse(recordSchema, json)
    if (parsed.success) return [parsed.data]
    const issue = firstIssue(parsed.error)
    const unread = issue.code === 'unrecognized_keys' ? [...issue.path, issue.keys[0]].join('.') : null
    throw refuse(parsed.error, unread === null ? '' : `: '${unread}' is unknown`)
  })
}

/** Returns all texts of a record. A new tokenizer must cover them. */
export function recordTexts(record: FineTuneRecord): string[] {
  if ('text' in record) return [record.text]
  if ('prompt' in record) return [record.prompt, record.completion]
  return record.messages.map(({ content }) => content)
}

/**
 * Returns the record's tokens with the trained ones marked. The end token after a completion is trained too. The result is one sample,
 * except for chats whose template changes earlier turns when later ones follow (Qwen3 drops their thoughts). Then each answer is a
 * sample.
 */
export function supervisedSamples(
  record: FineTuneRecord,
  tokenizer: Tokenizer,
  id: string,
): TrainingSample[] {
  const end = tokenizer.endToken === undefined ? [] : [tokenizer.endToken]
  if ('prompt' in record) {
    const { prompt, completion } = record
    const encode = (text: string) => tokenizer.encode(text, { begin: true })
    const parts = pieces([prompt, prompt + completion], encode).map((tokens, i) =>
      i === 0 ? part(tokens, 0) : part([...tokens, ...end], 1),
    )
    return [sampleOf(id, parts)]
  }
  if ('text' in record) {
    const tokens = [...tokenizer.encode(record.text, { begin: true }), ...end]
    return [sampleOf(id, [part(tokens.slice(0, 1), 0), part(tokens.slice(1), 1)])]
  }
  const turns = chatTurns(record.messages, tokenizer)
  const grows = turns.slice(1).every(({ before }, i) => before.startsWith(itemAt(turns, i).after))
  if (!grows) return turns.map((turn, i) => sampleOf(`${id}, answer ${i + 1}`, turnParts([turn], tokenizer)))
  return [sampleOf(id, turnParts(turns, tokenizer))]
}

/**
 * Each text extends the previous one. Returns the tokens that each text adds. Texts are tokenised whole, because many tokenizers treat
 * the start of a text differently. If a token spans the joint, only the added text is tokenised.
 */
function pieces(texts: readonly string[], encode: (text: string) => ArrayLike<number>): number[][] {
  let known: number[] = []
  let length = 0
  return texts.map((text) => {
    const whole = Array.from(encode(text))
    const grows = known.every((token, i) => whole[i] === token)
    const added = grows ? whole.slice(known.length) : Array.from(encode(text.slice(length)))
    known = whole
    length = text.length
    return added
  })
}

type Part = { readonly tokens: ArrayLike<number>; readonly trained: 0 | 1 }

const part = (tokens: ArrayLike<number>, trained: 0 | 1): Part => ({ tokens, trained })

function sampleOf(id: string, parts: readonly Part[]): TrainingSample {
  const tokens = Int32Array.from(parts.flatMap((one) => Array.from(one.tokens)))
  return {
    id,
    tokens,
    mask: Uint8Array.from(parts.flatMap((one) => Array.from(one.tokens, () => one.trained))),
    advantages: new Float32Array(tokens.length).fill(1),
    logprobs: new Float32Array(tokens.length),
  }
}

/** A rendered chat up to an answer of the assistant, without and with that answer. */
type Turn = { readonly before: string; readonly after: string }

function chatTurns(messages: readonly z.infer<typeof message>[], tokenizer: Tokenizer): Turn[] {
  return messages.flatMap(({ role }, i) => {
    if (role !== 'assistant') return []
    const before = tokenizer.renderChat(messages.slice(0, i))
    const after = tokenizer.renderChat(messages.slice(0, i + 1), { generationPrompt: false })
    if (!after.startsWith(before))
      throw new RlError('the chat template changes the prompt when its answer is added', {
        code: 'data.template',
        hint: 'give records of prompt and completion instead',
      })
    return [{ before, after }]
  })
}

/** Trains the tokens that the template adds for an answer, up to the end token. */
function turnParts(turns: readonly Turn[], tokenizer: Tokenizer): Part[] {
  const texts = turns.flatMap(({ before, after }) => [before, after])
  return pieces(texts, (text) => tokenizer.encode(text)).flatMap((tokens, i) => {
    if (i % 2 === 0) return [part(tokens, 0)]
    const end = tokenizer.endToken === undefined ? -1 : tokens.indexOf(tokenizer.endToken)
    const trained = end < 0 ? tokens.length : end + 1
    return [part(tokens.slice(0, trained), 1), part(tokens.slice(trained), 0)]
  })
}

export type FineTuneOptions = {
  readonly epochs: number
  /** Number of samples of one optimiser step. */
  readonly batch: number
  /** The highest rate. It is reached after the warm-up and then falls as a half cosine to a tenth. */
  readonly learningRate: number
  /** Share of the steps with a rising rate. */
  readonly warmup: number
  readonly tokenBudget: number
  readonly weightDecay: number
  readonly seed: Seed
}

export type FineTuneStep = {
  readonly step: number
  readonly steps: number
  readonly epoch: number
  readonly learningRate: number
  readonly metrics: UpdateMetrics
}

/**
 * Makes one optimiser step for each batch of each epoch, in an order drawn from the seed.
 * @throws RlError `model.not-finite` if a step was refused; the weights are those before it
 */
export async function fineTune(
  model: TrainableModel,
  samples: readonly TrainingSample[],
  { epochs, batch, learningRate, warmup, tokenBudget, weightDecay, seed }: FineTuneOptions,
  onStep: (step: FineTuneStep) => void,
): Promise<void> {
  const perEpoch = Math.ceil(samples.length / batch)
  const steps = epochs * perEpoch
  for (let step = 0; step < steps; step++) {
    const epoch = Math.floor(step / perEpoch)
    const order = rng(seedOf(seed, 'epoch', epoch)).shuffle(samples)
    const first = (step % perEpoch) * batch
    const rate = learningRate * schedule(step, steps, warmup)
    const metrics = await model.update(order.slice(first, first + batch), {
      loss: { kind: 'supervised' },
      learningRate: rate,
      weightDecay,
      clipNorm: 1,
      updates: 1,
      tokenBudget,
      seed: seedOf(seed, 'step', step),
      klLimit: null,
      resetOptimizer: step === 0,
    })
    if (metrics.stopped)
      throw new RlError(
        `step ${step + 1}: the loss is ${metrics.stopped.value} on ${metrics.stopped.sample}`,
        {
          code: 'model.not-finite',
          hint: 'lower the learning rate, or look at that sample',
        },
      )
    onStep({ step: step + 1, steps, epoch: epoch + 1, learningRate: rate, metrics })
  }
}

function schedule(step: number, steps: number, warmup: number): number {
  const rising = Math.max(1, Math.round(steps * warmup))
  if (step < rising) return (step + 1) / rising
  const progress = (step - rising) / Math.max(1, steps - rising)
  return 0.1 + 0.45 * (1 + Math.cos(Math.PI * progress))
}
