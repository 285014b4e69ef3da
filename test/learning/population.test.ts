import * as fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { ACCEPTANCE_RULES } from '../../src/learning/acceptance.ts'
import {
  type Change,
  changed,
  MOST_LESSONS,
  NO_INSTRUCTIONS,
  systemText,
} from '../../src/learning/instructions.ts'
import {
  decided,
  memberOf,
  newPopulation,
  type Population,
  played,
  proposed,
  type Weighed,
  type WeighingOptions,
  weigh,
  wished,
} from '../../src/learning/population.ts'
import { rng } from '../../src/random.ts'

const OPTIONS: WeighingOptions = {
  tries: 20,
  looks: 6,
  confidence: 0.95,
  acceptance: ACCEPTANCE_RULES[0],
  prior: [1, 1],
}

const add = (lesson: string): Change => ({ kind: 'add', lesson })

function withCandidate(population: Population, id: number, lesson: string): Population {
  const next = proposed(population, id, add(lesson))
  if (typeof next === 'string') throw new Error(next)
  return next
}

/** Two rollouts of each of the tasks, `right` of them with success. */
const round = (right: number, tasks = 20) =>
  Array.from({ length: 2 * tasks }, (_, i) => ({ task: `t${i % tasks}`, value: i < right ? 1 : 0 }))

test('each kind of change makes the text that it says, or tells why it does not fit', () => {
  const two = { system: 'S', lessons: ['a', 'b'] }
  assert.equal(changed(two, add('c')), { system: 'S', lessons: ['a', 'b', 'c'] })
  assert.equal(changed(two, { kind: 'replace', lesson: 'a', by: 'c' }), { system: 'S', lessons: ['c', 'b'] })
  assert.equal(changed(two, { kind: 'remove', lesson: 'a' }), { system: 'S', lessons: ['b'] })
  assert.equal(changed(two, { kind: 'instructions', system: 'T' }), { system: 'T', lessons: ['a', 'b'] })
  const refused: readonly Change[] = [
    add('a'),
    { kind: 'replace', lesson: 'x', by: 'c' },
    { kind: 'replace', lesson: 'a', by: 'b' },
    { kind: 'remove', lesson: 'x' },
    { kind: 'instructions', system: 'S' },
  ]
  for (const change of refused) assert.type(changed(two, change), 'string')
  const full = { system: '', lessons: Array.from({ length: MOST_LESSONS }, (_, i) => `${i}`) }
  assert.is(changed(full, add('more')), 'there are 20 lessons already')
  assert.is(systemText(NO_INSTRUCTIONS), '')
  assert.is(systemText(two), 'S\n\n- a\n- b')
})

test('a candidate is weighed when the best has played as often, and what is clear is decided at once', () => {
  let population = played(newPopulation(), 0, round(4))
  assert.equal(wished(population, OPTIONS), { kind: 'propose' })
  population = withCandidate(population, 1, 'good')
  population = withCandidate(population, 2, 'bad')
  population = withCandidate(population, 3, 'same')
  assert.equal(wished(population, OPTIONS), { kind: 'play', member: 1 }, 'the oldest comes first')
  assert.is(weigh(population, OPTIONS), null)
  const weighed = weigh(played(population, 1, round(36)), OPTIONS)!
  assert.is(weighed.verdict, 'accepted')
  assert.ok(weighed.difference.low > 0 && Math.abs(weighed.error - 0.05 / 120) < 1e-12)
  population = decided(played(population, 1, round(36)), weighed)
  assert.is(population.best, 1)
  assert.equal(
    population.members.map(({ id, rounds, text }) => [id, rounds, text.lessons.join()]),
    [
      [1, 1, 'good'],
      [2, 0, 'good,bad'],
      [3, 0, 'good,same'],
    ],
    'those that wait go on as changes of the new best',
  )
  const worse = weigh(played(population, 2, round(10)), OPTIONS)!
  assert.is(worse.verdict, 'rejected')
  population = decided(played(population, 2, round(10)), worse)
  assert.equal(
    population.members.map(({ id }) => id),
    [1, 3],
  )
  assert.is(population.tries, 2)
})

test('what is unclear is played again, in turn with the best, and is dropped after the last look', () => {
  const options = { ...OPTIONS, looks: 2 }
  let population = withCandidate(played(newPopulation(), 0, round(20)), 1, 'perhaps')
  population = played(population, 1, round(26))
  const first = weigh(population, options)!
  assert.is(first.verdict, 'undecided')
  population = decided(population, first)
  assert.is(weigh(population, options), null, 'nothing new')
  assert.equal(wished(population, options), { kind: 'play', member: 1 })
  population = played(population, 1, round(26))
  assert.is(weigh(population, options), null, 'the best has played less')
  assert.equal(wished(population, options), { kind: 'play', member: 0 })
  population = played(population, 0, round(20))
  const last = weigh(population, options)!
  assert.is(last.verdict, 'rejected')
  assert.is(last.reason, 'not shown to be better')
  assert.is(decided(population, last).tries, 1, 'a candidate is one try')
})

test('the population has at most four members, a text once, and an end', () => {
  let population = played(newPopulation(), 0, round(10))
  for (const id of [1, 2, 3]) population = withCandidate(population, id, `${id}`)
  assert.is(proposed(population, 4, add('1')), 'a member has these instructions')
  assert.is(wished(population, OPTIONS).kind, 'play')
  const over = { ...played(newPopulation(), 0, round(10)), tries: 20 }
  assert.is(wished(over, OPTIONS).kind, 'end')
  assert.throws(() => memberOf(population, 9), /no member 9/)
})

test('tasks that both played are compared, and too few of them prove nothing', () => {
  const other = round(40).map(({ value }, i) => ({ task: `other${i}`, value }))
  let population = withCandidate(played(newPopulation(), 0, round(0)), 1, 'lucky')
  population = played(population, 1, other)
  assert.is(weigh(population, OPTIONS)!.verdict, 'undecided')
  assert.is(weigh(population, OPTIONS)!.difference.n, 0)
})

test('graded outcomes in any order give the same verdict', () => {
  fc.assert(
    fc.property(
      fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 40, maxLength: 40 }),
      (values) => {
        const outcomes = values.map((value, i) => ({ task: `t${i % 20}`, value }))
        const population = withCandidate(played(newPopulation(), 0, round(20)), 1, 'graded')
        const weighed = weigh(played(population, 1, outcomes), OPTIONS)!
        assert.ok(weighed.candidate.successes <= weighed.candidate.n + 1e-9)
        assert.ok(weighed.difference.low <= weighed.difference.value)
      },
    ),
    { numRuns: 50 },
  )
})

/** A run of candidates on a noisy endpoint. Lesson i changes the chance of success by `effects[i]`. */
function run(seed: number, effects: readonly number[], start: number) {
  const { below } = rng([seed, 7])
  const draw = () => below(1_000_000) / 1_000_000
  let population = newPopulation()
  let next = 0
  const accepted: Weighed[] = []
  for (let member = 0, calls = 0; calls < 3_000; calls += 64) {
    const { lessons } = memberOf(population, member).text
    const chance = lessons.reduce((sum, lesson) => sum + effects[Number(lesson)], start)
    const outcomes = Array.from({ length: 64 }, (_, i) => ({
      task: `t${i % 32}`,
      value: draw() < chance + 0.04 * ((i % 5) - 2) ? 1 : 0,
    }))
    population = played(population, member, outcomes)
    const weighed = weigh(population, OPTIONS)
    if (weighed?.verdict === 'accepted') accepted.push(weighed)
    if (weighed) population = decided(population, weighed)
    while (wished(population, OPTIONS).kind === 'propose' && next < effects.length) {
      const more = proposed(population, next + 1, add(`${next++}`))
      if (typeof more !== 'string') population = more
    }
    const wish = wished(population, OPTIONS)
    const waiting = population.members.find(({ id }) => id !== population.best)?.id
    const chosen = wish.kind === 'play' ? wish.member : waiting
    if (chosen === undefined) break
    member = chosen
  }
  return { lessons: memberOf(population, population.best).text.lessons, accepted }
}

test('a noisy endpoint does not fool it: of 20 changes that change nothing none is taken in 95 of 100 runs', () => {
  const fooled = Array.from({ length: 100 }, (_, seed) => run(seed, new Array(20).fill(0), 0.5))
  const count = fooled.filter(({ accepted }) => accepted.length > 0).length
  assert.ok(count <= 5, `${count} of 100 runs took a change that helps nothing`)
})

test('helpful changes among harmful and useless ones are found', () => {
  const effects = [0, -0.2, 0.28, -0.2, 0, 0.28]
  const runs = Array.from({ length: 50 }, (_, seed) => run(seed, effects, 0.25))
  const exact = runs.filter(({ lessons }) => [...lessons].sort().join() === '2,5').length
  assert.ok(exact >= 47, `${exact} of 50 runs`)
})

test.run()
