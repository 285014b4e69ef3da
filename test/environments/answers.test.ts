import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { parsePlain } from '../../src/environments/answers.ts'

test('a command that ends with a quote or a full stop is read with marks around it and without', () => {
  const admissible = ['look', 'click 2 "login"', 'type 3 "note" so.', 'press 3 "note" *']
  for (const [answer, command] of [
    ['click 2 "login"', 'click 2 "login"'],
    ['I log in.\n> click 2 "login".', 'click 2 "login"'],
    ['**click 2 "login"**', 'click 2 "login"'],
    ['`click 2 "login"`', 'click 2 "login"'],
    ['- type 3 "note" so.', 'type 3 "note" so.'],
    ['press 3 "note" *', 'press 3 "note" *'],
    ['* look.', 'look'],
    ['look\nclick 2 "login"\nThat is all.', 'click 2 "login"'],
  ])
    assert.equal(parsePlain(answer, admissible), { command, problem: null }, answer)
  assert.equal(parsePlain('click 2', admissible), { command: 'look', problem: "'click 2' is not admissible" })
  const marks = '.'.repeat(100_000)
  assert.is(parsePlain(`look${marks}`, admissible).problem?.length, 80 + "'' is not admissible".length)
})

test.run()
