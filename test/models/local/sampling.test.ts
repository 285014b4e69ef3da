import fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { choiceTrie } from '../../../src/models/local/choices.ts'
import { sampleToken, topTokens } from '../../../src/models/local/sampling.ts'
import { rng } from '../../../src/random.ts'

const close = (a: number, b: number) => assert.ok(Math.abs(a - b) < 1e-6, `${a} is not ${b}`)
const logits = Float32Array.of(0.1, 2, 2, -1, 0.5)
const shares = (allowed?: number[]) => {
  const ids = allowed ?? [0, 1, 2, 3, 4]
  const sum = ids.reduce((total, id) => total + Math.exp(logits[id]), 0)
  return (id: number) => Math.exp(logits[id]) / sum
}

function frequencies(options: Parameters<typeof sampleToken>[1], draws = 20_000): number[] {
  const counts = [0, 0, 0, 0, 0]
  const random = rng([7, 7])
  for (let i = 0; i < draws; i++) counts[sampleToken(logits, options, random).token]++
  return counts.map((count) => count / draws)
}

test('greedy takes the likeliest, the lowest id of equals, and uses no draw', () => {
  const random = rng([1, 1])
  const { token, logprob } = sampleToken(logits, { temperature: 0, topP: 1 }, random)
  assert.is(token, 1)
  close(logprob, Math.log(shares()(1)))
  assert.is(random.bits(), rng([1, 1]).bits())
})

test('draws follow the softmax at the temperature; log-probs do not depend on it', () => {
  for (const [id, f] of frequencies({ temperature: 1, topP: 1 }).entries())
    assert.ok(Math.abs(f - shares()(id)) < 0.015)
  const hot = frequencies({ temperature: 1e6, topP: 1 })
  for (const f of hot) assert.ok(Math.abs(f - 0.2) < 0.015)
  const { token, logprob } = sampleToken(logits, { temperature: 3, topP: 1 }, rng([1, 2]))
  close(logprob, Math.log(shares()(token)))
})

test('the nucleus is the smallest set of that mass', () => {
  const [a, b, c, d, e] = frequencies({ temperature: 1, topP: 0.8 })
  assert.equal([a, d], [0, 0])
  assert.ok(b > 0 && c > 0)
  assert.is(e, shares()(1) + shares()(2) < 0.8 ? e : 0)
  assert.equal(
    frequencies({ temperature: 1, topP: 1e-9 }).map((f) => f > 0),
    [false, true, false, false, false],
  )
})

test('a nucleus of any mass holds it, and no smaller one does', () => {
  const values = fc.array(
    fc.integer({ min: -40, max: 40 }).map((n) => n / 8),
    { minLength: 1, maxLength: 12 },
  )
  fc.assert(
    fc.property(values, fc.double({ min: 0.05, max: 0.95, noNaN: true }), fc.nat(), (list, topP, seed) => {
      const given = Float32Array.from(list)
      const order = topTokens(given, given.length)
      const { token } = sampleToken(given, { temperature: 1, topP }, rng([seed, 0]))
      const place = order.findIndex((item) => item.token === token)
      const before = order.slice(0, place).reduce((sum, item) => sum + Math.exp(item.logprob), 0)
      assert.ok(before < topP + 1e-9)
    }),
  )
})

test('what is drawn of the likeliest is the same whether they are selected or sorted', () => {
  const value = fc.integer({ min: -20, max: 20 }).map((n) => n / 4)
  const given = fc.record({
    values: fc.array(value, { minLength: 300, maxLength: 400 }),
    ...{
      topK: fc.integer({ min: 1, max: 300 }),
      topP: fc.constantFrom(1, 0.7),
      minP: fc.constantFrom(0, 0.1),
    },
    seed: fc.nat(),
  })
  fc.assert(
    fc.property(given, ({ values, topK, topP, minP, seed }) => {
      const all = Float32Array.from(values)
      const most = Math.max(...all)
      const sorted = values
        .map((_, token) => ({ token, weight: Math.exp((all[token] - most) / 0.7) }))
        .filter(({ weight }) => weight >= minP)
        .sort((a, b) => b.weight - a.weight || a.token - b.token)
        .slice(0, topK)
      const sum = sorted.reduce((total, { weight }) => total + weight, 0)
      let [mass, count] = [0, 0]
      while (count < sorted.length && (count === 0 || mass < topP * sum)) mass += sorted[count++].weight
      const at = rng([seed, 0]).uniform() * mass
      const ends = sorted
        .slice(0, count)
        .map((_, i) => sorted.slice(0, i + 1).reduce((s, { weight }) => s + weight, 0))
      const place = ends.findIndex((end) => at < end)
      const expected = sorted[place < 0 ? count - 1 : place]
      const { token } = sampleToken(all, { temperature: 0.7, topP, topK, minP }, rng([seed, 0]))
      assert.is(token, expected.token)
    }),
  )
})

test('log-probs are renormalised over the allowed tokens', () => {
  const allowed = Int32Array.of(0, 3)
  for (const topP of [1, 0.99]) {
    const { token, logprob } = sampleToken(logits, { temperature: 1, topP, allowed }, rng([3, 4]))
    assert.ok(allowed.includes(token))
    close(logprob, Math.log(shares([0, 3])(token)))
  }
})

test('tempered log-probs are those of the draw, whatever is cut or penalised', () => {
  const exact = (token: number, temperature: number, ids: readonly number[]) => {
    const sum = ids.reduce((total, id) => total + Math.exp(logits[id] / temperature), 0)
    return logits[token] / temperature - Math.log(sum)
  }
  const all = [0, 1, 2, 3, 4]
  const variants = [{}, { topK: 2 }, { topP: 0.6 }, { repeated: { tokens: new Set([1]), penalty: 1.5 } }]
  for (const more of variants)
    for (const temperature of [0.3, 0.7, 1, 2]) {
      const options = { temperature, topP: 1, tempered: true, ...more }
      const { token, logprob } = sampleToken(logits, options, rng([5, 6]))
      close(logprob, exact(token, temperature, all))
      const plain = sampleToken(logits, { ...options, tempered: false }, rng([5, 6]))
      assert.is(plain.token, token)
      close(plain.logprob, exact(token, 1, all))
    }
  const allowed = Int32Array.of(0, 3)
  const chosen = sampleToken(logits, { temperature: 0.5, topP: 1, tempered: true, allowed }, rng([1, 2]))
  close(chosen.logprob, exact(chosen.token, 0.5, [0, 3]))
  const greedy = sampleToken(logits, { temperature: 0, topP: 1, tempered: true }, rng([1, 2]))
  close(greedy.logprob, exact(greedy.token, 1, all))
})

test('the likeliest tokens come in order', () => {
  assert.equal(
    topTokens(logits, 3).map(({ token }) => token),
    [1, 2, 4],
  )
  assert.is(topTokens(logits, 9).length, 5)
  assert.is(topTokens(logits, 0).length, 0)
})

test('logits that are not numbers are an error', () => {
  assert.throws(() => sampleToken(Float32Array.of(1, Number.NaN), { temperature: 1, topP: 1 }, rng([1, 1])))
})

test('a trie allows what continues a choice, and an end where one is the beginning of another', () => {
  const trie = choiceTrie([[5, 6], [5, 6, 7], [5, 1], [9]], { end: 0, numbers: null })
  assert.equal([...trie.allowed], [5, 9])
  const six = trie.children.get(5)?.children.get(6)
  assert.equal([...(six?.allowed ?? [])], [0, 7])
  assert.equal([...(trie.children.get(5)?.allowed ?? [])], [1, 6])
  assert.throws(() => choiceTrie([[5], [5, 6]], { end: undefined, numbers: null }), /no end token/)
  assert.throws(() => choiceTrie([], { end: 0, numbers: null }), /empty/)
  assert.throws(() => choiceTrie([[]], { end: 0, numbers: null }), /empty/)
})

test.run()
