/** Answers of endpoints: whole, and as streams of events that come in pieces. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { answerStream, readBody } from '../../src/gateway/answer.ts'
import { eventReader, type ServerEvent } from '../../src/models/openai/events.ts'
import { BadAnswer } from '../../src/models/openai/faults.ts'
import { mutateText, mutateTree } from './mutate.ts'
import type { Target } from './target.ts'

const CALL = { id: 'c1', type: 'function', function: { name: 'look', arguments: '{"at":"x"}' } }
const WHOLE = {
  ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'm' },
  usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
  choices: [
    {
      ...{ index: 0, finish_reason: 'stop', prompt_token_ids: [1, 2, 3], token_ids: [4, 5] },
      message: { role: 'assistant', content: 'hello', tool_calls: [CALL], reasoning_content: 'so' },
      logprobs: {
        content: [
          { token: 'he', logprob: -0.5 },
          { token: 'llo', logprob: -0.25 },
        ],
      },
    },
  ],
}
const piece = (delta: object, more: object = {}) => ({
  ...{ id: 'chatcmpl-1', object: 'chat.completion.chunk', model: 'm' },
  choices: [{ index: 0, delta, finish_reason: null, ...more }],
})
const PIECES = [
  piece(
    { role: 'assistant', content: 'he' },
    { token_ids: [4], logprobs: { content: [{ token: 'he', logprob: -1 }] } },
  ),
  piece({ content: 'llo' }),
  piece({ tool_calls: [{ index: 0, id: 'c1', function: { name: 'look', arguments: '{"a' } }] }),
  piece({ tool_calls: [{ index: 0, function: { arguments: 't":1}' } }] }),
  piece({}, { finish_reason: 'stop' }),
]

/** An answer that is refused by a kind of its own is no crash. */
function refusing<Result>(work: () => Result): Result | null {
  try {
    return work()
  } catch (error) {
    if (error instanceof BadAnswer || error instanceof SyntaxError) return null
    throw error
  }
}

export const answerTarget: Target = {
  name: 'answers',
  what: 'the body of an answer of an endpoint',
  async open() {
    const text = JSON.stringify(WHOLE)
    return {
      make: (draw) =>
        draw.uniform() < 0.3
          ? mutateText(text, text, draw)
          : Buffer.from(JSON.stringify(mutateTree(mutateTree(WHOLE, PIECES[0], draw), WHOLE, draw)) ?? ''),
      take(input) {
        const answer = refusing(() => readBody(Buffer.from(input).toString(), 'm'))
        if (answer === null) return null
        const { tokens, logprobs } = answer.generation as {
          tokens?: ArrayLike<number>
          logprobs?: ArrayLike<number>
        }
        return tokens &&
          logprobs &&
          tokens.length !== logprobs.length &&
          logprobs.length > 0 &&
          tokens.length > 0
          ? `${tokens.length} tokens with ${logprobs.length} log-probs`
          : null
      },
    }
  },
}

function eventsOf(bytes: Uint8Array, sizes: readonly number[]): readonly ServerEvent[] | null {
  return refusing(() => {
    const reader = eventReader()
    const events: ServerEvent[] = []
    let at = 0
    for (const size of sizes) {
      events.push(...reader.push(bytes.subarray(at, at + size)))
      at += size
    }
    return [...events, ...reader.push(bytes.subarray(at)), ...reader.end()]
  })
}

export const streamTarget: Target = {
  name: 'streams',
  what: 'a stream of events of an endpoint',
  async open() {
    const text = `${PIECES.map((one) => `data: ${JSON.stringify(one)}`).join('\n\n')}\n\ndata: [DONE]\n\n`
    return {
      make(draw) {
        if (draw.uniform() < 0.6) return mutateText(text, text.replaceAll('\n', '\r\n'), draw)
        const changed = PIECES.map((one) => (draw.uniform() < 0.4 ? mutateTree(one, WHOLE, draw) : one))
        return Buffer.from(changed.map((one) => `data: ${JSON.stringify(one) ?? ''}\n\n`).join(''))
      },
      async take(input) {
        const whole = eventsOf(input, [])
        // However the network cuts the bytes, they say the same. Each reading has a turn of the loop of its own.
        for (const size of [1, 2, 7, 100]) {
          await nextTurn()
          if (
            !isDeepStrictEqual(
              eventsOf(input, Array<number>(Math.ceil(input.length / size)).fill(size)),
              whole,
            )
          )
            return `pieces of ${size} bytes say something else`
        }
        await nextTurn()
        refusing(() => {
          const stream = answerStream('m')
          stream.push(input)
          return stream.end()
        })
        return null
      },
    }
  },
}
