import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { advance, initialState } from '../../../src/environments/alfworld/engine.ts'
import { gameOf } from '../../../src/environments/alfworld/game.ts'
import { searchPlan } from '../../../src/environments/alfworld/search.ts'
import { remainingCommands, solve, solveGame } from '../../../src/environments/alfworld/solver.ts'
import { withGoal } from '../../../src/environments/alfworld/tasks.ts'
import { smallGame } from './games.ts'
import { fixtureGames, roomOf, TINY, wander } from './play.ts'

test('real games: as short as the walkthrough, and shorter by one after each of its commands', () => {
  for (const game of fixtureGames()) {
    const walkthrough = game.walkthrough ?? []
    const plan = solveGame(game)
    assert.ok('commands' in plan, game.name)
    if (walkthrough.length === 0) continue
    assert.is(plan.commands.length, walkthrough.length, game.name)
    let state = initialState(game)
    for (const [index, command] of walkthrough.entries()) {
      assert.is(remainingCommands(state.world), walkthrough.length - index)
      state = advance(state, command)
    }
    assert.is(remainingCommands(state.world), 0)
  }
})

test('from any state of a small room a plan is as short as breadth-first search finds it', () => {
  let compared = 0
  for (let seed = 0; seed < 24; seed++) {
    const { states } = wander(roomOf(seed, TINY), seed, 12)
    for (const state of [states[0], states[states.length >> 1], states[states.length - 1]]) {
      const found = searchPlan(state, 3_000)
      if (!('commands' in found)) continue
      const plan = solve(state)
      assert.ok('commands' in plan)
      if (state.won) continue
      assert.is(
        plan.commands.length,
        found.commands.length,
        `seed ${seed}: ${plan.commands} / ${found.commands}`,
      )
      compared++
    }
  }
  assert.ok(compared > 30, String(compared))
})

test('plans win from every state of random play, and no command saves more than one', () => {
  for (let seed = 0; seed < 40; seed++) {
    const { states } = wander(roomOf(seed, seed % 4 === 0 ? 'medium' : 'easy'), seed, 25)
    let before = remainingCommands(states[0].world) ?? Number.NaN
    for (const state of states.slice(1)) {
      const plan = solve(state)
      assert.ok('commands' in plan && plan.by === 'routes', `seed ${seed}`)
      const now = remainingCommands(state.world) ?? Number.NaN
      assert.is(now, plan.commands.length)
      assert.ok(now >= before - 1 && now <= before + 3, `seed ${seed}: ${before} to ${now}`)
      before = now
    }
  }
})

test('an unsolvable goal is refused with the reason', () => {
  const game = roomOf(2)
  const withoutSolution = (goal: Parameters<typeof withGoal>[1]) =>
    solveGame(gameOf({ ...game.file, pddl_problem: withGoal(game.file.pddl_problem, goal) }))
  const reason = (goal: Parameters<typeof withGoal>[1]) => {
    const plan = withoutSolution(goal)
    return 'unsolvable' in plan ? plan.unsolvable : 'solved'
  }
  assert.match(reason({ type: 'pick_and_place_simple', object: 'Vase', target: 'Safe' }), /no vase/)
  assert.match(reason({ type: 'look_at_obj_in_light', object: 'Vase', target: 'FloorLamp' }), /no vase/)
})

test('a goal of another shape is found by search', () => {
  const plan = solveGame(gameOf(smallGame()))
  assert.ok('commands' in plan && plan.by === 'search')
  assert.is(plan.commands.length, 2)
  const none = solveGame(gameOf(smallGame({ goal: '(and (lit) (not (lit)))' })))
  assert.ok('unsolvable' in none && none.unsolvable.includes('none of the'))
})

test.run()
