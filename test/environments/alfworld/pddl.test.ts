import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { initialState, NOTHING_HAPPENS, step } from '../../../src/environments/alfworld/engine.ts'
import { gameOf } from '../../../src/environments/alfworld/game.ts'
import { factsOf } from '../../../src/environments/alfworld/world.ts'
import { RlError } from '../../../src/errors.ts'
import { smallGame } from './games.ts'

const play = (game: Parameters<typeof smallGame>[0], ...commands: string[]) =>
  commands.reduce(step, initialState(gameOf(smallGame(game))))

test('a domain of its own plays: not, =, exists, conditional effects, a predicate without arguments', () => {
  const start = play({})
  assert.equal(start.observation, 'Hello.\n\nYour task is to: make light.')
  assert.equal(start.admissible, ['walk to hall 1'])
  const there = step(start, 'walk to hall 1')
  assert.equal(there.observation, 'You are in hall 1.')
  assert.equal(there.admissible, ['switch lamp 1', 'walk to hall 2'])
  const lit = step(there, ' switch lamp 1\n')
  assert.equal([lit.won, lit.score, lit.done, lit.moves], [true, 1, true, 2])
  assert.equal(factsOf(lit.world, 'on'), [['lamp_bar_1']])
})

test('conditions of effects are looked at before any effect, so a switch switches both ways', () => {
  const state = play({ goal: '(and (lit) (not (on lamp_bar_1)))' }, 'walk to hall 1', 'switch lamp 1')
  assert.is(state.won, false)
  assert.equal(factsOf(step(state, 'switch lamp 1').world, 'on'), [])
  assert.is(step(state, 'switch lamp 1').won, true)
})

test('deletes come before adds: what an action deletes and adds, holds', () => {
  const actions = '(:action renew :parameters () :effect (and (lit) (not (lit)) (in me hall_bar_2)))'
  const texts = 'action renew { template :: "renew"; feedback :: "Done."; }'
  assert.is(play({ actions, texts }, 'renew').won, true)
})

test('an action whose effects its precondition guarantees is no command', () => {
  const texts = 'action idle { template :: "idle"; feedback :: "Done."; }'
  const idle = (body: string) =>
    play({ texts, actions: `(:action idle ${body})` }).admissible.includes('idle')
  assert.is(idle(':parameters () :effect (lit)'), true)
  assert.is(idle(':parameters () :precondition (not (lit)) :effect (not (lit))'), false)
  assert.is(idle(':parameters (?a - agent ?r - room) :precondition (in ?a ?r) :effect (in ?a ?r)'), false)
  assert.is(
    idle(
      ':parameters (?a - agent ?r - room) :precondition (in ?a ?r) :effect (and (in ?a ?r) (not (in ?a ?r)))',
    ),
    false,
  )
  assert.is(idle(':parameters () :effect (increase (total-cost) 1)'), false)
  assert.is(idle(':parameters () :precondition (lit) :effect (when (lit) (lit))'), false)
  assert.is(idle(':parameters () :precondition (not (lit)) :effect (when (lit) (lit))'), true)
})

test('one instance per choice of parameters, however many alternatives hold', () => {
  const texts = 'action look { template :: "look"; feedback :: "."; }'
  const actions = `(:action look :parameters (?a - agent)
    :precondition (or (exists (?r - room) (in ?a ?r)) (exists (?l - lamp ?r - room) (at ?l ?r)) (not (lit)))
    :effect (and (in ?a hall_bar_2) (lit)))`
  assert.equal(play({ texts, actions }).admissible, ['look', 'walk to hall 1'])
})

test('a type with a stray comma has no objects, as Fast Downward reads it', () => {
  const texts = 'action look { template :: "look {l}"; feedback :: "."; }'
  const look = (typed: string) => `(:action look :parameters (?l - lamp)
    :precondition (exists (${typed}) (and (at ?l ?r) (in ?a ?s))) :effect (lit))`
  assert.equal(play({ texts, actions: look('?r - room ?a - agent ?s - room') }).admissible[0], 'look lamp 1')
  assert.equal(play({ texts, actions: look('?r - room, ?a - agent ?s - room') }).admissible, [
    'walk to hall 1',
  ])
})

test('names and words are read without regard to case, and comments are skipped', () => {
  const state = play({ init: '(IN me Hall_bar_1) ; (lit)\n (at LAMP_bar_1 hall_bar_1) (= (total-cost) 0)' })
  assert.equal(state.admissible, ['switch lamp 1', 'walk to hall_bar_2'])
})

test('commands are compared exactly, apart from white space around them', () => {
  for (const command of ['Walk to hall 1', 'walk  to hall 1', 'walk to hall', ''])
    assert.is(play({}, command).observation, NOTHING_HAPPENS)
  assert.is(play({}, '\twalk to hall 1 ').observation, 'You are in hall 1.')
})

const refused: [what: string, game: Parameters<typeof smallGame>[0], message: RegExp][] = [
  [
    'forall in a condition',
    { goal: '(forall (?l - lamp) (on ?l))' },
    /pddl_problem, line 1: \(forall …\) is outside/,
  ],
  ['imply', { goal: '(imply (lit) (lit))' }, /\(imply …\) is outside/],
  ['not of more than a literal', { goal: '(not (and (lit)))' }, /\(not …\) is outside .* not of \(and …\)/],
  [
    'forall in an effect',
    { actions: '(:action a :effect (forall (?l - lamp) (on ?l)))' },
    /pddl_domain, line 10: \(forall …\)/,
  ],
  [
    'numeric effects',
    { actions: '(:action a :effect (decrease (total-cost) 1))' },
    /line 10: \(decrease …\)/,
  ],
  ['durative actions', { actions: '\n(:durative-action a)' }, /line 11: \(:durative-action …\) is outside/],
  ['derived predicates', { actions: '(:derived (lit) (on x))' }, /\(:derived …\) is outside/],
  ['constants', { actions: '(:constants a - room)' }, /\(:constants …\) is outside/],
  ['either', { predicates: '(p ?x - (either room lamp))' }, /line 3: \(either …\) is outside/],
  ['three arguments', { predicates: '(p ?x ?y ?z)' }, /line 3: \(p …\) is outside .* 3 arguments/],
  ['negative facts', { init: '(not (lit))' }, /\(not …\) is outside .* positive/],
  ['an undeclared predicate', { goal: '(dark)' }, /\(dark …\) uses an undeclared predicate/],
  ['a wrong number of arguments', { goal: '(lit me)' }, /\(lit …\) has 1 arguments, declared with 0/],
  ['an undeclared object', { goal: '(on sun)' }, /'sun' is not declared/],
  ['an unbound variable', { goal: '(on ?x)' }, /'\?x' is not declared/],
  ['an undeclared type', { objects: 'me - ghost' }, /type 'ghost' is not declared/],
  ['two types of one object', { objects: 'me - agent me - room' }, /'me' is declared as agent and as room/],
  ['an unclosed list', { goal: '(lit' }, /'\(' is never closed/],
  [
    'an action without texts',
    { actions: '(:action fly :effect (lit))' },
    /grammar, line 1: action 'fly' of the domain has no texts/,
  ],
  [
    'an effect on an unknown object',
    { actions: '(:action a :effect (on sun))', texts: 'action a { template :: "a"; feedback :: "a"; }' },
    /pddl_domain, line 10, action 'a': .*'sun'/,
  ],
]
for (const [what, game, message] of refused)
  test(`refused with line and construct: ${what}`, () => {
    assert.throws(
      () => gameOf(smallGame(game)),
      (error: unknown) => {
        assert.instance(error, RlError)
        assert.match((error as RlError).message, message)
        return true
      },
    )
  })

test('type hierarchies are refused, the root object is not', () => {
  const { pddl_domain, ...rest } = smallGame()
  const load = (types: string) =>
    gameOf({ ...rest, pddl_domain: pddl_domain.replace('agent room lamp', types) })
  assert.throws(() => load('agent room lamp - room'), /flat/)
  load('agent room lamp - object')
})

test.run()
