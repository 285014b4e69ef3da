/** How a request takes tokens, and when it ends. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { SampleRequest } from '../../../src/models/local/sampler/request.ts'
import {
  append,
  appendForced,
  drawingOf,
  endOfRoom,
  openSlot,
  pending,
  resultOf,
} from '../../../src/models/local/sampler/slot.ts'

const CONTEXT = 8
const END = 9

function slotOf(changes: Partial<SampleRequest> = {}) {
  const request: SampleRequest = {
    prompt: Int32Array.of(1, 2),
    maxTokens: 4,
    temperature: 1,
    topP: 1,
    stopTokens: [],
    stopTexts: [],
    seed: [1, 2],
    ...changes,
  }
  const decode = (tokens: readonly number[]) => tokens.map((token) => 'abcdefghij'[token]).join('')
  const callbacks = { resolve() {}, reject() {}, signal: undefined }
  return openSlot(request, { eosTokens: [END] }, decode, callbacks)
}

const add = (slot: ReturnType<typeof slotOf>, token: number) =>
  append(slot, { token, logprob: -1 }, [], CONTEXT)

test('a sequence ends at a token of the model or of the request, and keeps it', () => {
  const slot = slotOf({ stopTokens: [5] })
  assert.is(add(slot, 3), null)
  assert.equal(add(slot, 5), { reason: 'stop', stopText: null })
  assert.equal([...resultOf(slot, { reason: 'stop', stopText: null }).tokens], [3, 5])
  assert.is(add(slotOf(), END)?.reason, 'stop')
})

test('a stop text ends a sequence, also over several tokens', () => {
  const slot = slotOf({ stopTexts: ['xyz', 'cd'] })
  assert.is(add(slot, 2), null)
  assert.equal(add(slot, 3), { reason: 'stop', stopText: 1 })
})

test('a sequence ends at its most tokens, and at the end of the context', () => {
  const short = slotOf({ maxTokens: 1 })
  assert.is(endOfRoom(short, CONTEXT), null)
  assert.is(add(short, 3)?.reason, 'length')
  assert.is(endOfRoom(slotOf(), 2)?.reason, 'length')
})

test('tokens that leave no choice are added with probability 1', () => {
  const slot = slotOf({
    choices: [
      [3, 4, 5],
      [3, 4, 6],
    ],
  })
  assert.is(appendForced(slot, CONTEXT), null)
  assert.equal(slot.tokens, [3, 4])
  assert.equal(slot.logprobs, [0, 0])
  assert.equal([...slot.place!.node.allowed], [5, 6])
})

test('what is not in the cache is pending: the prompt, then the tokens', () => {
  const slot = slotOf()
  assert.equal(pending(slot), [1, 2])
  add(slot, 3)
  const sequence = { id: 1, length: 2, open: true } as never
  slot.cache = { sequence, tokens: [1, 2], busy: true, key: undefined, lastUse: 0 }
  assert.equal(pending(slot), [3])
})

test('the device draws only what it can: no choices, no penalty, no likeliest tokens', () => {
  assert.ok(drawingOf(slotOf(), true))
  assert.is(drawingOf(slotOf({ choices: [[3], [4]] }), true), undefined)
  assert.is(drawingOf(slotOf({ topLogprobs: 2 }), true), undefined)
  assert.is(drawingOf(slotOf({ repetitionPenalty: 1.1 }), true), undefined)
  assert.is(drawingOf(slotOf({ temperature: 0 }), false)?.temperature, 0)
})

test.run()
