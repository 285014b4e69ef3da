/** How one function of a user's setting is guarded. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { asker, string } from '../../src/environments/user-ask.ts'
import { RlError } from '../../src/errors.ts'

const ask = asker({ file: 'mine.ts' })

function errorOf(work: () => unknown): RlError {
  try {
    work()
  } catch (error) {
    if (error instanceof RlError) return error
  }
  throw new Error('it was not refused')
}

test('a result that fits comes back as it is', () => {
  const shout = ask((text: string) => `${text}!`, 'shout', { atOnce: true, check: string })
  assert.is(shout('a'), 'a!')
})

test('a result of another type, or one that comes later, is refused with the name of the part', () => {
  for (const wrong of [() => 3, async () => 'later'])
    assert.match(errorOf(ask(wrong, 'shout', { atOnce: true, check: string })).message, 'shout()')
})

test('an error names the task or the labelled step that the call was about', () => {
  const fail = ask(
    (_: unknown) => {
      throw new Error('no')
    },
    'fail',
    { atOnce: true },
  )
  assert.match(errorOf(() => fail({ id: 'door', recipe: {} })).message, 'door')
  assert.match(errorOf(() => fail({ task: 'door', earlier: [1, 2] })).message, 'step 3')
})

test.run()
