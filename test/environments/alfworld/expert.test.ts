import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { advance, initialState } from '../../../src/environments/alfworld/engine.ts'
import { expertChoice, expertCommands } from '../../../src/environments/alfworld/expert.ts'
import { beginKnowledge, type Knowledge, observe } from '../../../src/environments/alfworld/knowledge.ts'
import { outlook } from '../../../src/environments/alfworld/outlook.ts'
import { fallsOf, progressOf, shortenedBy } from '../../../src/environments/alfworld/progress.ts'
import { situationOf } from '../../../src/environments/alfworld/situation.ts'
import { solve } from '../../../src/environments/alfworld/solver.ts'
import { fixtureGames, playExpert, roomOf, wander } from './play.ts'

test('the expert wins, in generated rooms and in real games', () => {
  for (let seed = 0; seed < 60; seed++) {
    const { states } = playExpert(roomOf(seed, seed % 3 === 0 ? 'medium' : 'easy'))
    assert.ok(states[states.length - 1].won, `seed ${seed}`)
  }
  for (const game of fixtureGames()) {
    const { states, commands } = playExpert(game)
    assert.ok(states[states.length - 1].won, `${game.name}: ${commands}`)
  }
})

test('what the agent knows is true', () => {
  for (let seed = 0; seed < 20; seed++) {
    const game = seed < 15 ? roomOf(seed, 'medium') : fixtureGames()[seed - 15]
    const { states, commands } = wander(game, seed, 40)
    let knowledge: Knowledge = beginKnowledge(states[0])
    for (const [i, command] of commands.entries()) knowledge = observe(knowledge, command, states[i + 1])
    const truth = situationOf(states[states.length - 1].world)
    assert.ok(truth)
    for (const known of knowledge.receptacles) {
      const real = truth.receptacles.find(({ name }) => name === known.name)
      assert.ok(real)
      if (known.openable !== null) assert.is(known.openable, real.openable, known.name)
      assert.is(known.open, real.open, known.name)
    }
    const held = knowledge.items[knowledge.held]?.name ?? null
    assert.is(held, truth.items[truth.held]?.name ?? null)
    for (const item of knowledge.items) {
      const real = truth.items.find(({ name }) => name === item.name)
      if (!real) continue
      const names = (of: { readonly in: readonly number[] }, from: readonly { readonly name: string }[]) =>
        of.in.map((r) => from[r].name)
      for (const name of names(item, knowledge.receptacles))
        assert.ok(names(real, truth.receptacles).includes(name), `${item.name} in ${name}`)
      if (real.type === truth.goal.object) assert.equal({ ...item.has }, { ...real.has }, item.name)
    }
  }
})

test('the expected remaining commands are what the expert needs on average', () => {
  let expected = 0
  let needed = 0
  for (let seed = 0; seed < 150; seed++) {
    const game = roomOf(seed)
    expected += outlook(beginKnowledge(initialState(game)))?.remaining ?? Number.NaN
    needed += playExpert(game).commands.length
  }
  assert.ok(Math.abs(expected / needed - 1) < 0.12, `${expected} expected, ${needed} needed`)
})

test("the expert's steps make progress of about one each; useless steps none, steps to undo less than none", () => {
  const all: number[] = []
  for (let seed = 0; seed < 60; seed++) {
    const game = roomOf(seed)
    const { commands } = playExpert(game)
    all.push(...(progressOf(game, commands) ?? []))
  }
  const mean = all.reduce((sum, value) => sum + value, 0) / all.length
  assert.ok(Math.abs(mean - 1) < 0.05, String(mean))
  assert.ok(all.filter((value) => value < 0.3).length < all.length / 50)

  const game = roomOf(1)
  const { commands, states } = playExpert(game)
  const last = commands.length - 1
  const away = states[last].admissible.find(
    (command) => command.startsWith('go to ') && command !== commands[last],
  )
  assert.ok(away)
  const detour = progressOf(game, [...commands.slice(0, last), 'look', 'inventory', 'fly', away, away])
  assert.ok(detour)
  assert.equal([...detour.slice(last, last + 3)], [0, 0, 0])
  assert.ok(detour[last + 3] <= 0, String(detour[last + 3]))
  assert.is(detour[last + 4], 0)
})

test('falls add up to what was left at the start once the goal is reached, luck included', () => {
  let lucky = 0
  for (let seed = 0; seed < 20; seed++) {
    const game = roomOf(seed)
    const { commands } = playExpert(game)
    const falls = fallsOf(game, commands)
    assert.ok(falls)
    const left = outlook(beginKnowledge(initialState(game)))?.remaining ?? Number.NaN
    const sum = falls.reduce((total, fall) => total + fall, 0)
    assert.ok(Math.abs(sum - left) < 1e-3, `${sum} of ${left}`)
    if (falls.some((fall) => fall > 1.5)) lucky++
    assert.equal([...(fallsOf(game, [...commands, 'look']) ?? [])].slice(-1), [0])
  }
  assert.ok(lucky > 0, 'no look ever found more than was expected of it')
})

test('a solver that knows the true state pays each command of a best plan alike, and a detour with its cost', () => {
  for (let seed = 0; seed < 10; seed++) {
    const game = roomOf(seed)
    const plan = solve(initialState(game))
    assert.ok('commands' in plan)
    const { commands } = plan
    assert.equal(
      [...(shortenedBy(game, commands) ?? [])],
      commands.map(() => 1),
    )
    const first = commands[0] ?? ''
    const away = initialState(game).admissible.find(
      (command) => command.startsWith('go to ') && command !== first,
    )
    assert.ok(away)
    const detour = shortenedBy(game, ['look', away, ...commands, 'look'])
    assert.ok(detour)
    assert.is(detour[0], 0)
    assert.ok((detour[1] ?? 1) <= 0)
    const sum = detour.reduce((total, one) => total + one, 0)
    assert.is(sum, commands.length)
    assert.is(detour.at(-1), 0)
  }
})

test('progress is judged by what could be known: what stays unseen does not matter', () => {
  const game = roomOf(4)
  const { states, commands } = wander(game, 4, 10)
  const whole = progressOf(game, commands)
  const part = progressOf(game, commands.slice(0, 5))
  assert.ok(whole && part)
  assert.equal([...whole.slice(0, 5)], [...part])
  assert.is(whole.length, commands.length)
  let knowledge = beginKnowledge(states[0])
  const readings: { observation: string; admissible: readonly string[] }[] = states.map(
    ({ observation, admissible }) => ({
      observation,
      admissible,
    }),
  )
  for (const [i, command] of commands.entries()) knowledge = observe(knowledge, command, readings[i + 1])
  assert.ok(outlook(knowledge))
})

test('looking again into what was seen makes no progress', () => {
  const game = roomOf(0)
  let state = initialState(game)
  let knowledge = beginKnowledge(state)
  const commands: string[] = []
  for (let i = 0; i < 4 && !state.won; i++) {
    const command = expertChoice(knowledge, state.admissible)
    commands.push(command)
    state = advance(state, command)
    knowledge = observe(knowledge, command, state)
  }
  const examined = state.admissible.find((command) => command.startsWith('examine '))
  assert.ok(examined)
  assert.is(progressOf(game, [...commands, examined])?.[commands.length], 0)
})

test('the advice holds the choice, and only admissible commands', () => {
  for (let seed = 0; seed < 12; seed++) {
    const { states, commands } = playExpert(roomOf(seed))
    let knowledge = beginKnowledge(states[0])
    for (const [i, command] of commands.entries()) {
      const advice = expertCommands(knowledge, states[i].admissible)
      assert.ok(advice.commands.includes(advice.choice))
      assert.is(advice.choice, command)
      for (const sensible of advice.commands) assert.ok(states[i].admissible.includes(sensible))
      assert.not.ok(advice.commands.includes('look') || advice.commands.includes('help'))
      knowledge = observe(knowledge, command, states[i + 1])
    }
  }
})

test.run()
