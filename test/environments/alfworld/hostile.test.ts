import * as fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { initialState, step } from '../../../src/environments/alfworld/engine.ts'
import { gameOf, loadGame } from '../../../src/environments/alfworld/game.ts'
import {
  type GameFile,
  MAX_GAME_CHARACTERS,
  parseGameFile,
} from '../../../src/environments/alfworld/game-file.ts'
import { jsonErrorOffset } from '../../../src/environments/alfworld/json-error.ts'
import { RlError } from '../../../src/errors.ts'
import { fixtureFile, fixtureText, smallGame } from './games.ts'

const file = fixtureFile('Laptop')

/** Loads and plays a little. Anything but an RlError fails; the message, or null where it plays. */
function outcome(make: () => GameFile): string | null {
  try {
    const start = initialState(gameOf(make()))
    for (const command of start.admissible.slice(0, 3)) step(start, command)
    return null
  } catch (error) {
    if (error instanceof RlError) return error.message
    throw error
  }
}

const many = (count: number, text: (i: number) => string) =>
  Array.from({ length: count }, (_, i) => text(i)).join(' ')
const withProblem = (from: string | RegExp, to: string) => ({
  ...file,
  pddl_problem: file.pddl_problem.replace(from, to),
})
const withRules = (rules: Readonly<Record<string, string>>) => ({
  ...file,
  grammar: `${file.grammar}\ngrammar :: """${JSON.stringify(
    Object.fromEntries(Object.entries(rules).map(([name, rhs]) => [name, [{ rhs }]])),
  )}""";`,
})
const goal = (text: string) => withProblem(/\(:goal[\s\S]*$/, `(:goal ${text}))`)
const look = (parameters: string, precondition: string) => ({
  ...file,
  pddl_domain: file.pddl_domain.replace(
    /\(:action look[\s\S]*?\(:action inventory/,
    `(:action look :parameters (${parameters}) :precondition ${precondition} :effect (checked ?a)) (:action inventory`,
  ),
})
const chain = (n: number, next: (i: number) => string, last: string) => ({
  ...Object.fromEntries(Array.from({ length: n }, (_, i) => [`d${i}`, next(i + 1)])),
  [`d${n}`]: last,
  intro: '#d0#',
})

const hostile: [what: string, game: () => GameFile, message: RegExp][] = [
  [
    'a problem cut off',
    () => ({ ...file, pddl_problem: file.pddl_problem.slice(0, 9_000) }),
    /pddl_problem, line \d+: '\(' is never closed/,
  ],
  [
    'a domain cut off',
    () => ({ ...file, pddl_domain: file.pddl_domain.slice(0, 9_000) }),
    /pddl_domain, line \d+: '\(' is never closed/,
  ],
  [
    'a grammar cut off',
    () => ({ ...file, grammar: file.grammar.slice(0, 5_000) }),
    /grammar, line \d+: """ is never closed/,
  ],
  [
    'deep nesting',
    () => ({ ...file, pddl_problem: '('.repeat(1_000_000) }),
    /line 1: parentheses nest deeper than 100/,
  ],
  [
    'too many objects',
    () => withProblem('(:objects', `(:objects ${many(20_000, (i) => `o${i}`)} - object`),
    /more than 16384 objects/,
  ],
  [
    'alternatives that multiply',
    () => goal(`(and ${many(60, () => '(or (openable agent1) (opened agent1))')})`),
    /goal: a condition has more than 512 alternatives/,
  ],
  [
    'too many literals',
    () => goal(`(and ${many(2_000, () => '(opened agent1)')})`),
    /more than 1000 literals/,
  ],
  [
    'too many variables',
    () => goal(`(exists (${many(2_000, (i) => `?x${i}`)}) (and))`),
    /more than 100 variables/,
  ],
  [
    'an unknown rule',
    () => ({ ...file, grammar: file.grammar.replace('#look.feedback#', '#nope#') }),
    /grammar, line \d+: there is no rule '#nope#'/,
  ],
  [
    'rules without an end',
    () => withRules({ intro: '#a#', a: '#b#', b: '#a#' }),
    /refers to itself without an end/,
  ],
  ['a long chain of rules', () => withRules(chain(5_000, (i) => `#d${i}#`, 'x')), /nested too deep/],
  [
    'a text that doubles 45 times',
    () => withRules(chain(45, (i) => `#d${i}##d${i}#`, 'xx')),
    /longer than 1000000 characters/,
  ],
  [
    'work that doubles 45 times',
    () => withRules(chain(45, (i) => `#d${i}##d${i}#`, '')),
    /looks at more than/,
  ],
  [
    'an action with too many instances',
    () => look('?a ?b ?c ?d', '()'),
    /'look' has more than 50000 applicable instances/,
  ],
  [
    'an action that joins too much',
    () => look('?a ?b ?c ?d', '(and (= ?c ?d) (not (= ?c ?d)))'),
    /looks at more than 5000000 facts/,
  ],
  ['a text that is too long', () => withRules({ intro: 'x'.repeat(100_000) }), /a text of 100000 characters/],
]
for (const [what, make, message] of hostile)
  test(`refused in bounded time: ${what}`, () => assert.match(outcome(make) ?? 'it plays', message))

test('large but harmless games play', () => {
  const facts = withProblem(
    '(:init',
    `(:init (= (total-cost) ${'9'.repeat(100_000)}) ${many(20_000, () => '(isToggled Candle)')}`,
  )
  assert.is(
    outcome(() => facts),
    null,
  )
  const objects = withProblem('(:objects', `(:objects ${many(10_000, (i) => `o${i}`)} - object`)
  assert.is(
    outcome(() => objects),
    null,
  )
})

test('the file itself: too large, no JSON, a key missing', () => {
  assert.throws(() => loadGame('x'.repeat(100_000_000)), /100000000 characters are more than a game can have/)
  assert.throws(() => loadGame('['.repeat(MAX_GAME_CHARACTERS)), /no valid JSON at line 1/)
  const text = fixtureText('Laptop')
  assert.throws(
    () => loadGame(text.slice(0, 60_000), 'a.tw-pddl'),
    /^a\.tw-pddl: no valid JSON|Error: a\.tw-pddl: no valid/,
  )
  assert.throws(() => parseGameFile('{"pddl_domain": ""}', 'g'), /the text 'grammar' is missing/)
  assert.throws(
    () => parseGameFile(JSON.stringify({ ...file, walkthrough: [1] }), 'g'),
    /'walkthrough' must be a list/,
  )
})

test('the place of a JSON error', () => {
  const wrong: [text: string, offset: number][] = [
    ['', 0],
    ['{', 1],
    ['[1,]', 3],
    ['{"a" 1}', 5],
    ['{"a":1,}', 7],
    ['[1] x', 4],
    ['["a\nb"]', 1],
    ['{"a":tru}', 5],
    ['[01]', 2],
    ['  ]', 2],
  ]
  for (const [text, offset] of wrong) {
    assert.throws(() => JSON.parse(text))
    assert.is(jsonErrorOffset(text), offset, text)
  }
})

/** A text with some places cut, doubled, swapped or overwritten with what parsers stumble over. */
const STONES = [
  '(',
  ')',
  '((',
  '"',
  '"""',
  '{',
  '}',
  '[',
  ']',
  '#',
  '|',
  ';',
  ',',
  '-',
  '?',
  ':',
  '::',
  '&',
  "'",
  '\\',
  '\n',
  '\0',
  'not',
  'and',
  'or',
  'when',
  'forall',
  '=',
  '?x',
  '- object',
  '999999999999999999999',
  'é',
  '\u2028',
  '__proto__',
  'constructor',
]
const edit = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  length: fc.nat(30),
  put: fc.oneof(fc.constantFrom(...STONES), fc.string({ maxLength: 8 }), fc.constant('')),
})
const edits = fc.array(edit, { minLength: 1, maxLength: 4 })
const mangled = (text: string, changes: readonly { at: number; length: number; put: string }[]) =>
  changes.reduce((now, { at, length, put }) => {
    const start = Math.floor(at * now.length)
    return now.slice(0, start) + put + now.slice(start + length)
  }, text)

const small = smallGame({
  rules: {
    intro: [
      {
        condition: 'in(a:agent, r:room)',
        rhs: "Hello [{l.indefinite + ' ' + l.name or l.id | at(l:lamp, r:room)}].\\n#task#",
      },
      { rhs: 'x' },
    ],
  },
})

test('fuzz: the PDDL parsers give a game or an RlError (5,000 mangled texts)', () => {
  fc.assert(
    fc.property(edits, fc.boolean(), (changes, domain) => {
      const key = domain ? 'pddl_domain' : 'pddl_problem'
      outcome(() => ({ ...small, [key]: mangled(small[key], changes) }))
    }),
    { numRuns: 5_000 },
  )
})

test('fuzz: the grammar parser gives a game or an RlError (5,000 mangled texts)', () => {
  fc.assert(
    fc.property(edits, (changes) => {
      outcome(() => ({ ...small, grammar: mangled(small.grammar, changes) }))
    }),
    { numRuns: 5_000 },
  )
})

test('fuzz: a real game (300 mangled texts)', () => {
  fc.assert(
    fc.property(edits, fc.constantFrom('pddl_domain', 'pddl_problem', 'grammar'), (changes, key) => {
      outcome(() => ({
        ...file,
        [key as keyof GameFile]: mangled(String(file[key as keyof GameFile]), changes),
      }))
    }),
    { numRuns: 300 },
  )
})

test.run()
