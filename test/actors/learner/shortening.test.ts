import * as fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { episodeText } from '../../../src/actors/learner/prompts.ts'
import { askFitting } from '../../../src/actors/learner/shortening.ts'
import { RlError } from '../../../src/errors.ts'
import { createWindow } from '../../../src/models/openai/window.ts'
import type { GenerateRequest, Generation } from '../../../src/models/port.ts'

const GENERATION: Generation = {
  ...{ text: '', finish: 'stop', tokens: null, logprobs: null, promptTokens: null },
  usage: { promptTokens: 0, cachedTokens: 0, completionTokens: 0 },
}

const requestOf = (content: string): GenerateRequest => ({
  ...{ prompt: { messages: [{ role: 'user', content }] }, maxTokens: 16 },
  ...{ temperature: 1, seed: [0, 0] },
})

const contentOf = ({ prompt }: GenerateRequest) => ('messages' in prompt ? prompt.messages[0].content : '')

/** An endpoint whose list says nothing of its context. */
const untold = async () => null

const tooLong = () => new RlError('too long', { code: 'model.context' })

test('as many of the latest steps as fit are shown, whoever says that more do not', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 0, max: 40 }),
      fc.integer({ min: 0, max: 40 }),
      fc.integer({ min: 0, max: 60 }),
      async (steps, expected, limit) => {
        const asked: number[] = []
        const given = askFitting(steps, (shown) => requestOf('x'.repeat(shown)), {
          fits: async (request) => contentOf(request).length <= expected,
          async generate(request) {
            asked.push(contentOf(request).length)
            if (contentOf(request).length > limit) throw tooLong()
            return GENERATION
          },
        })
        const { leftOut } = await given
        assert.ok(steps - leftOut <= Math.min(steps, expected, limit))
        if (limit >= expected) assert.equal(asked, [Math.min(steps, expected)], 'never sent to fail')
        assert.ok(asked.every((shown, i) => i === 0 || shown < asked[i - 1]))
      },
    ),
  )
})

test('a prompt that is too long by itself is an error, once', async () => {
  let calls = 0
  const failed = await askFitting(0, () => requestOf('goal'), {
    fits: async () => false,
    async generate() {
      calls++
      throw tooLong()
    },
  }).then(
    () => null,
    (error: RlError) => error,
  )
  assert.is(failed?.code, 'model.context')
  assert.is(calls, 1)
})

test('the first observation stays, the oldest steps go, and the prompt says so', () => {
  const text = episodeText(
    { observations: ['start', 'one', 'two', 'three'], actions: ['a', 'b', 'c'] },
    { steps: 1 },
  )
  assert.is(text, 'observation: start\n(2 earlier steps are left out)\naction: c\nobservation: three')
})

test('a window learns how long tokens are, and asks the endpoint once how many it takes', async () => {
  let asked = 0
  const window = createWindow(null)
  const fits = (request: GenerateRequest) =>
    window.fits(request, async () => {
      asked++
      return 2_000
    })
  const long = requestOf('word '.repeat(1_500))
  assert.ok(await fits(requestOf('short')))
  assert.is(asked, 1)
  assert.not.ok(await fits(long), 'some 2,500 tokens are expected of 7,500 characters')
  window.learn(requestOf('word '.repeat(200)), 200)
  assert.ok(await fits(long), 'at five characters a token they are 1,500')
  assert.is(asked, 1)
})

test('what cannot fit by any count is told; what may fit is left to the endpoint', () => {
  const window = createWindow(1_000)
  const excess = (words: number) => window.excess(requestOf('word '.repeat(words)))?.context ?? null
  assert.is(excess(1_500), null, 'at eight characters a token they are 938')
  assert.is(excess(1_700), 1_000)
  assert.ok(window.learn(requestOf('word '.repeat(800)), 800))
  assert.is(excess(1_200), null, 'texts differ: at 6.25 characters a token they are 960')
  assert.is(excess(1_300), 1_000)
  assert.is(createWindow(null).excess(requestOf('word '.repeat(100_000))), null)
})

test('what a refusal says is held against the prompt alone: its server may mind no long answer', () => {
  const window = createWindow(null)
  const asking = (maxTokens: number) => ({ ...requestOf('w'.repeat(4_000)), maxTokens })
  window.refused(asking(10), 'the request exceeds the available context size (1000 tokens)')
  assert.is(window.excess(asking(2_000)), null)
  assert.ok(createWindow(1_000).excess(asking(2_000)))
})

test('a count that no such prompt can have is not learned from', async () => {
  const window = createWindow(5_000)
  const fits = (words: number) => window.fits(requestOf('word '.repeat(words)), untold)
  assert.ok(window.learn(requestOf('word '.repeat(1_000)), 1_000))
  assert.not.ok(window.learn(requestOf('word '.repeat(4_500)), 2_000), 'it was cut')
  assert.ok(window.learn(requestOf('word '.repeat(4_500)), 3_600), 'a text of longer words')
  assert.not.ok(await fits(5_100))
  assert.not.ok(createWindow(null).learn(requestOf('word '.repeat(8_000)), 4_096))
  assert.ok(createWindow(null).learn(requestOf('word '.repeat(20)), 1), 'short prompts tell nothing')
})

test('what images and tools take is not learned as a property of the text', async () => {
  const window = createWindow(4_000)
  const image = { sha256: '0'.repeat(64), bytes: 9, mediaType: 'image/png', width: 8, height: 8 } as const
  const seeing = (text: string, images: number): GenerateRequest => {
    const parts = Array.from({ length: images }, () => ({ type: 'image', image }) as const)
    return {
      ...requestOf(''),
      prompt: { messages: [{ role: 'user', content: [{ type: 'text', text }, ...parts] }] },
    }
  }
  const text = 'word '.repeat(200)
  window.learn(requestOf(text), 200)
  window.learn(seeing(text, 1), 1_200)
  assert.ok(await window.fits(requestOf('word '.repeat(3_900)), untold), 'some 3,900 tokens of text')
  assert.ok(await window.fits(seeing(text, 3), untold), 'some 3,200 tokens')
  assert.not.ok(await window.fits(seeing(text, 4), untold), 'some 4,200 tokens')

  const parameters = { type: 'object', description: 'word '.repeat(1_000) }
  const tools = [{ name: 'look', description: 'looks', parameters }]
  window.learn({ ...requestOf(''), prompt: { messages: [{ role: 'user', content: text }], tools } }, 1_200)
  assert.ok(await window.fits(requestOf('word '.repeat(3_900)), untold))
})

test('a refusal is learned from: by its number where it has one', async () => {
  for (const [message, fits] of [
    ["This model's maximum context length is 4096 tokens. However, you requested 5000 tokens", 4_000],
    ['the request exceeds the available context size (4096 tokens)', 4_000],
    ['Input is too long', 14_000],
  ] as const) {
    const window = createWindow(null)
    window.learn(requestOf('w'.repeat(1_000)), 1_000)
    window.refused(requestOf('w'.repeat(15_000)), message)
    assert.ok(await window.fits(requestOf('w'.repeat(fits)), untold), message)
    assert.not.ok(await window.fits(requestOf('w'.repeat(fits + 1_100)), untold), message)
  }
})

test('a refusal says how long the context is as people write numbers, and not by how much it was exceeded', async () => {
  const excess = (message: string) => {
    const window = createWindow(null)
    window.refused(requestOf('word '.repeat(100_000)), message)
    return window.excess(requestOf('word '.repeat(80_000)))?.context ?? null
  }
  assert.is(excess('the maximum context length is 32,768 tokens'), 32_768)
  assert.is(excess('a context window of 32k tokens is exceeded'), 32_000)
  assert.is(excess('exceeds the context window by 120 tokens'), null)
  const window = createWindow(null)
  assert.ok(window.learn(requestOf('word '.repeat(2_000)), 2_000))
  window.refused(requestOf('word '.repeat(9_000)), 'context size exceeded, error 1024')
  assert.ok(await window.fits(requestOf('word '.repeat(2_000)), untold), 'so long a prompt was answered')
})

test('a role whose tasks are in several languages is kept from none of them', () => {
  const window = createWindow(4_096)
  const english = requestOf('word '.repeat(1_600))
  assert.ok(window.learn(requestOf('漢字'.repeat(1_500)), 2_500))
  assert.is(window.excess(english), null, 'at five characters a token they are 1,600')
  assert.ok(window.learn(english, 1_600), 'it was not cut')
})

test('white space and lines, of which a token may hold many, keep no prompt back and are no sign of a cut', () => {
  const window = createWindow(4_096)
  const table = requestOf(`${' '.repeat(30)}x ${'-'.repeat(30)}\n`.repeat(800))
  assert.is(window.excess(table), null)
  assert.ok(window.learn(table, 3_200))
})

test('a refusal of images whose tokens nobody has told is not held against texts', async () => {
  const window = createWindow(null)
  const image = { sha256: '0'.repeat(64), bytes: 9, mediaType: 'image/png', width: 8, height: 8 } as const
  const messages = [{ role: 'user', content: [{ type: 'image', image }] }] as const
  window.refused({ ...requestOf(''), prompt: { messages } }, 'Request Entity Too Large')
  assert.ok(await window.fits(requestOf('word '.repeat(1_000)), untold))
})

test.run()
