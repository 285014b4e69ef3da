import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { initialState, step } from '../../../src/environments/alfworld/engine.ts'
import { gameOf } from '../../../src/environments/alfworld/game.ts'
import { splitTask, withTask } from '../../../src/environments/alfworld/game-file.ts'
import { demangle } from '../../../src/environments/alfworld/names.ts'
import { factsOf } from '../../../src/environments/alfworld/world.ts'
import { smallGame } from './games.ts'

const objects =
  'me - agent hall_bar_1 - room hall_bar_2 - room lamp_bar_1 - lamp lamp_bar_2 - lamp lamp_bar_3 - lamp'
const init =
  '(in me hall_bar_2) (at lamp_bar_3 hall_bar_1) (at lamp_bar_1 hall_bar_2) (at lamp_bar_2 hall_bar_1)'

/** What an introduction with this right-hand side reads. */
const intro = (rhs: string, rules: Parameters<typeof smallGame>[0] = {}) =>
  initialState(gameOf(smallGame({ objects, init, ...rules, rules: { ...rules.rules, intro: [{ rhs }] } })))
    .observation

const texts: [what: string, rhs: string, text: string][] = [
  ['white space and // lines at the start are skipped', ' \t\n// a\n//b\n  a b', 'a b'],
  ['white space elsewhere stays', 'a \n\n b ', 'a \n\n b '],
  ['a backslash and an n are a newline', 'a\\nb', 'a\nb'],
  ['from a stray sign the rest is dropped', 'a} b', 'a'],
  ['from a semicolon the rest is dropped', 'a; b', 'a'],
  ['from a list that is none the rest is dropped', 'a[b]', 'a'],
  [
    'a list of three in the order of the ids',
    '[{l.name | at(l:lamp, r:room)}].',
    'lamp 3, lamp 2, and lamp 1.',
  ],
  [
    'two are joined by the last separator',
    '[{l.name | in(a:agent, s:room) & at(l:lamp, r:room)}]',
    'lamp 2, and lamp 1',
  ],
  ['one', '[{l.name | in(a:agent, r:room) & at(l:lamp, r:room)}]', 'lamp 3'],
  ['none', '[{l.name | on(l:lamp)}]', 'nothing'],
  ['without brackets solutions follow each other', '{l.name | at(l:lamp, r:room)}', 'lamp 3lamp 2lamp 1'],
  ['a query without solutions is empty', 'a{l.name | on(l:lamp)}b', 'ab'],
  [
    'properties, sums and alternatives',
    "{l.indefinite + ' ' + l.name + '/' + l.definite or l.id | in(a:agent, r:room) & at(l:lamp, r:room)}",
    'a lamp 3/the',
  ],
  ['or takes the first that is not empty', "{'' or r.id | in(a:agent, r:room)}", 'hall_bar_2'],
  [
    'different variables have different values',
    '{l.name | at(l:lamp, r:room) & at(m:lamp, r:room)}',
    'lamp 2lamp 1',
  ],
  [
    'a variable is its name and its type',
    '{r.name | in(a:agent, r:room) & at(r:lamp, s:room)}',
    'lamp 2lamp 1',
  ],
  ['object stands for every type', '{l.name | at(l:object, r:object)}', 'lamp 3lamp 2lamp 1'],
  ['a wrong number of arguments has no solutions', '[{l.name | at(l:object)}]', 'nothing'],
  ['an unknown predicate has no solutions', '[{l.name | flies(l:lamp)}]', 'nothing'],
]
for (const [what, rhs, text] of texts) test(what, () => assert.is(intro(rhs), text))

test('the first production whose condition has a solution is taken; variables carry over to rules', () => {
  const rules = {
    'state(l)': [
      { condition: 'on(l:lamp)', rhs: '{l.name} shines' },
      { condition: 'at(l:lamp, r:room)', rhs: '{l.name} is dark' },
      { rhs: 'never' },
    ],
  }
  const rhs = '{#state(l)# | in(a:agent, r:room) & at(l:lamp, r:room)}'
  assert.is(intro(rhs, { rules }), 'lamp 3 is dark')
  assert.is(intro(rhs, { rules, init: `${init} (on lamp_bar_1)` }), 'lamp 3 shines')
})

test('not_p holds only after an effect has deleted p and until p is added again', () => {
  const start = initialState(
    gameOf(
      smallGame({
        goal: '(and (lit) (in me hall_bar_1))',
        rules: { left: [{ rhs: '[{r.name | not_in(a:agent, r:room)}]' }] },
        actions: '(:action think :parameters (?a - agent) :effect (on lamp_bar_1))',
        texts: 'action think { template :: "think"; feedback :: "#left#"; }',
      }),
    ),
  )
  const seen = (...commands: string[]) => commands.reduce(step, start).observation
  assert.is(seen('think'), 'nothing')
  assert.is(seen('walk to hall 1', 'think'), 'hall 2')
  assert.is(seen('walk to hall 1', 'walk to hall 2', 'think'), 'hall 1')
})

test('not_p never holds for what no action can make true', () => {
  const { world, observation } = step(
    initialState(
      gameOf(
        smallGame({
          objects,
          init: '(in me hall_bar_2) (at lamp_bar_1 hall_bar_1) (heavy lamp_bar_1) (heavy lamp_bar_2)',
          predicates: '(heavy ?l - lamp)',
          rules: { dark: [{ rhs: '[{l.name | not_on(l:lamp)}]' }] },
          actions:
            '(:action think :parameters (?a - agent) :effect (and (not (on lamp_bar_1)) (not (on lamp_bar_2))))',
          texts: 'action think { template :: "think"; feedback :: "#dark#"; }',
        }),
      ),
    ),
    'think',
  )
  assert.is(observation, 'lamp 2')
  assert.equal(factsOf(world, 'not_on'), [['lamp_bar_1']])
})

test('a grammar that cannot be used is refused with its line', () => {
  const grammar = (text: string) => () => gameOf({ ...smallGame(), grammar: text })
  assert.throws(() => intro('#nowhere#'), /grammar, line 1: there is no rule '#nowhere#'/)
  assert.throws(() => intro('{x.name}'), /is used, but no 'x' is known/)
  assert.throws(() => intro('{x.colour | on(x:lamp)}'), /asks for 'colour'/)
  assert.throws(() => intro('{x.name ++ y | on(x:lamp)}'), /is no expression/)
  assert.throws(() => intro('{x.name | on x}'), /'on x' is no query/)
  assert.throws(grammar('\n\naction a {'), /line 3: a name expected, the text ends/)
  assert.throws(grammar('\ngrammar :: """{\n"a": [}\n"""'), /line 3: the rules are no valid JSON/)
  assert.throws(grammar('grammar :: """{}'), /never closed/)
  assert.throws(grammar('grammar :: """{"a": [{}]}""";'), /rule 'a' has a production without the text/)
  assert.throws(() => intro('x#intro#'), /'intro' refers to itself without an end/)
})

test('of rules with the same name the later wins, wherever it stands', () => {
  const file = smallGame({ objects, init })
  const grammar = `${file.grammar}\n# a comment\naction other { template :: "o"; feedback :: "o"; grammar :: """\n  # dropped\n {"intro": [{"rhs": "Later."}]}"""; }`
  assert.is(initialState(gameOf({ ...file, grammar })).observation, 'Later.')
})

test('the task sentence can be read and replaced, with the goal', () => {
  const file = smallGame({ objects, init })
  assert.is(splitTask(file.grammar).task, 'Your task is to: make light.')
  const goal = {
    op: 'exists',
    parameters: [{ name: '?l', type: 'lamp' }],
    part: { op: 'atom', predicate: 'on', args: ['?l'], line: 1 },
  } as const
  const changed = gameOf(
    withTask(file, { goal, task: 'Your task is to: switch on a lamp.', walkthrough: null }),
  )
  const start = initialState(changed)
  assert.match(start.observation, /switch on a lamp\.$/)
  assert.is(changed.task, 'Your task is to: switch on a lamp.')
  assert.equal([start.won, step(start, 'switch lamp 3').won], [false, true])
})

test('numbers of names count down in the order of the ids', () => {
  const names = demangle(['agent1', 'cup_bar_1', 'cup_bar_2', 'sink_bar_1', 'sink_bar_1_bar_sinkbasin'])
  assert.equal([...names.values()], ['agent1 ', 'cup 2', 'cup 1', 'sink 1', 'sinkbasin 1'])
})

test('shuffled names are the same names in another order, the same for the same seed', () => {
  const ids = Array.from({ length: 20 }, (_, i) => `cup_bar_${String(i).padStart(2, '0')}`)
  const inOrder = (names: Map<string, string>) => ids.map((id) => names.get(id) ?? '')
  const shuffled = inOrder(demangle(ids, [1, 2]))
  assert.equal(shuffled, inOrder(demangle(ids, [1, 2])))
  assert.not.equal(shuffled, inOrder(demangle(ids)))
  assert.equal([...shuffled].sort(), inOrder(demangle(ids)).sort())
})

test.run()
