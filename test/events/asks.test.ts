import * as fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { openAsks } from '../../src/events/nats/asks.ts'

test('what is open is what a server owes that serves pulls in turn, whichever of them end', () => {
  const moves = fc.array(
    fc.oneof(fc.record({ ask: fc.integer({ min: 1, max: 8 }) }), fc.constantFrom('deliver', 'end')),
  )
  fc.assert(
    fc.property(moves, (all) => {
      const asks = openAsks()
      const server: { reply: string; owed: number }[] = []
      for (const [index, move] of all.entries()) {
        if (typeof move === 'object') {
          server.push({ reply: `${index}`, owed: move.ask })
          asks.ask(`${index}`, move.ask)
        } else {
          const first = server.shift()
          if (first === undefined) continue
          if (move === 'end') asks.ended(first.reply, first.owed)
          else {
            asks.delivered()
            first.owed--
            if (first.owed > 0) server.push(first)
          }
        }
        assert.is(
          asks.open(),
          server.reduce((sum, { owed }) => sum + owed, 0),
        )
      }
    }),
  )
})

test('a server that does not tell what it owes owes what was counted', () => {
  const asks = openAsks()
  asks.ask('a', 4)
  asks.delivered()
  asks.ended('a', null)
  assert.is(asks.open(), 0)
  assert.is(asks.pulls(), 0)
})

test.run()
