/** Results that a game keeps are those that it would work out anew. */
import * as fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { Facts } from '../../../src/environments/alfworld/facts.ts'
import { keeper } from '../../../src/environments/alfworld/kept.ts'

/** Facts of three predicates. Few values, so that the same ones come again, shared or not. */
const relation = fc.uniqueArray(fc.integer({ min: 0, max: 3 }), { maxLength: 3 }).map((keys) => keys.sort())
const shared = [[], [1], [1, 2], [0, 2, 3]]
const facts = fc.tuple(...[0, 1, 2].map(() => fc.oneof(fc.constantFrom(...shared), relation)))
const question = fc.tuple(fc.integer({ min: 0, max: 2 }), facts)

test('a kept value is the one that follows from the key and the relations', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.integer({ min: 0, max: 2 })),
      fc.array(question, { maxLength: 40 }),
      (varying, questions) => {
        const keep = keeper<string>(varying)
        for (const [key, facts] of questions) {
          const value = JSON.stringify([key, varying.map((index) => facts[index])])
          assert.is(
            keep(key, facts, () => value),
            value,
          )
        }
      },
    ),
  )
})

test('the value of the start and the last one are kept', () => {
  const keep = keeper<number>([0, 1])
  const [start, later, latest]: Facts[] = [
    [[7], [1, 2]],
    [[7], [1, 2, 3]],
    [[7], [1, 3]],
  ]
  let count = 0
  const ask = (of: Facts = []) => keep(7, of, () => count++)
  assert.equal([start, later, later, start, latest, later, start].map(ask), [0, 1, 1, 0, 2, 3, 0])
})

test.run()
