/** Actions are hostile text: ten thousand malformed ones are refused with a reason, and nothing of them is run. */
import fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { parseCommand, VERBS } from '../src/command.ts'
import { compactView } from '../src/compact-view.ts'
import { webEnvironment } from '../src/environment.ts'
import { namedIn } from '../src/named.ts'
import { ownSite } from '../src/own/site.ts'
import { hasBrowser } from './browser.ts'

const piece = fc.oneof(
  fc.constantFrom(
    ...Object.keys(VERBS),
    'wait',
    'eval',
    'goto',
    'CLICK',
    '"name"',
    '"',
    '-1',
    '0',
    '1',
    '999999',
    '1e9',
    '0x1',
  ),
  fc.constantFrom(
    'javascript:won=1',
    '<script>',
    '__rl.page',
    '$1',
    '\u0000',
    '\n',
    'up',
    'left',
    'Enter',
    '💥',
  ),
  fc.string({ unit: 'binary', maxLength: 30 }),
)
const action = fc.array(piece, { maxLength: 6 }).map((words) => words.join(' '))

test('whatever is said is a command or is refused with a reason', () => {
  fc.assert(
    fc.property(action, (text) => {
      const command = parseCommand(text)
      if ('problem' in command) assert.ok(command.problem.length > 10 && command.problem.length < 300)
      else {
        assert.ok(command[0] === 'wait' || Object.hasOwn(VERBS, command[0]))
        assert.ok(Number.isInteger(command[1]))
      }
    }),
    { numRuns: 10_000 },
  )
})

test('commands', () => {
  assert.equal(parseCommand('click 5'), ['click', 5])
  assert.equal(parseCommand('click 5 "save"'), ['click', 5])
  assert.equal(parseCommand('type 7 "name" anna b'), ['type', 7, 'anna b'])
  assert.equal(parseCommand('type 7'), ['type', 7, ''])
  assert.equal(parseCommand('wait'), ['wait', 0])
  assert.match((parseCommand('click save') as { problem: string }).problem, /no ref/)
  assert.match((parseCommand('scroll 3 left') as { problem: string }).problem, /up or down/)
  assert.match((parseCommand('select 3') as { problem: string }).problem, /lacks an option/)
  for (const key of ['x', ' ', '\u{1f4a5}', 'Enter', 'ctrl+c', 'shift++', 'F11'])
    assert.equal(parseCommand(`press 1 ${key}`), ['press', 1, key])
  for (const none of ['press 1 ', 'press 1 Enter\nclick 2', 'press 1 Enter click 2', 'press 1 ctrl+'])
    assert.match((parseCommand(none) as { problem: string }).problem, /takes one key/)
})

test('what the task names is found by its rarest word, in the order of the task', () => {
  const commands = [
    'click 1 "add tea"',
    'click 2 "add milk"',
    'click 3 "order"',
    'select 4 "city" rome',
    'type 5 "name" anna b',
  ]
  assert.equal(namedIn('add milk , choose Rome for anna and click order .', commands), [
    'add milk',
    'rome',
    'anna b',
    'order',
  ])
  assert.equal(namedIn('do it', commands), [])
})

test('the compact view keeps names, values and changes', () => {
  assert.is(
    compactView.intro('do it .', '[1] textbox "name"\nhello\n[2] select "city" = none (focused)'),
    'do it . : name | hello | city = none focused',
  )
  assert.is(compactView.observation('[1] button "a"\n* [2] checkbox "b" (checked)'), 'b checked')
  assert.is(compactView.observation('[1] button "a"'), 'same')
  assert.is(compactView.observation('[1] button "a"\nnamed: a | b c'), 'same # b c | a')
  assert.is(compactView.command('type 3 "name" anna'), 'type name anna')
})

if (hasBrowser())
  test('a page stands through malformed actions, and none of them pays', async () => {
    const counts = { train: 60, 'in-domain': 1, ood: 1 }
    const environment = webEnvironment({
      site: ownSite({ seed: 1, counts, difficulty: 'easy' }),
      browser: null,
      pages: 1,
    })
    try {
      const [task] = (await environment.tasks('train')).filter(({ kind }) => kind === 'enter-text')
      let episode = await environment.reset(task, { seed: [1, 1], maxSteps: 1_000_000 })
      const start = episode.turn.observation
      for (const text of fc.sample(action, { numRuns: 10_000, seed: 1 })) {
        if (/^\s*click [1-9]/.test(text)) continue
        episode = await episode.step(text)
        assert.is(episode.turn.done, false, text)
      }
      assert.match(episode.turn.observation, /^! /)
      const wrong = await episode.step('click 99')
      assert.match(wrong.turn.observation, /^! there is no element 99 on the page\n/)
      assert.match((await wrong.step('select 1 x')).turn.observation, /^! element 1 has no option 'x'/)
      assert.ok(start.length > 0)
    } finally {
      await environment.close()
    }
  })

test.run()
