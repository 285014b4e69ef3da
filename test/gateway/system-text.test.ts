import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { openTargets } from '../../src/actors/learner/targets.ts'
import type { LoggedEvent } from '../../src/events/catalogue.ts'
import { withSystemText } from '../../src/openai-api/system-text.ts'
import { readFixtures, sampleOf } from '../events/samples.ts'

const user = { role: 'user', content: 'hi' }

test('a text joins the system message that a chat begins with, or becomes one', () => {
  assert.equal(withSystemText([user], 'T'), [{ role: 'system', content: 'T' }, user])
  for (const role of ['system', 'developer'])
    assert.equal(withSystemText([{ role, content: 'S', name: 'n' }, user], 'T'), [
      { role, content: 'T\n\nS', name: 'n' },
      user,
    ])
  const part = { type: 'text', text: 'S' }
  assert.equal(withSystemText([{ role: 'system', content: [part] }], 'T'), [
    { role: 'system', content: [{ type: 'text', text: 'T' }, part] },
  ])
  assert.equal(withSystemText([{ role: 'system', content: '' }], 'T'), [{ role: 'system', content: 'T' }])
  assert.equal(withSystemText([{ role: 'system', content: null }], 'T')[0], { role: 'system', content: 'T' })
  assert.equal(withSystemText([user], ''), [user])
  assert.equal(withSystemText([], 'T'), [{ role: 'system', content: 'T' }])
})

test('a version has the text of the newest choice up to it', () => {
  const first = { baseUrl: 'http://127.0.0.1:1/v1', model: 'm' }
  const targets = openTargets({ role: 'policy', first, publishing: false })
  const sample = sampleOf(readFixtures().find(({ type }) => type === 'InstructionsChosen')!)
  const choose = (version: number, lessons: readonly string[], system = '') =>
    targets.see({ ...sample, data: { ...sample.data, version, lessons, system } } as LoggedEvent)
  choose(0, [])
  choose(2, ['a'])
  choose(4, [], 'S')
  assert.equal(
    [0, 1, 2, 3, 4, 9].map((version) => targets.targetOf(version).system),
    [undefined, undefined, '- a', '- a', 'S', 'S'],
  )
})

test.run()
