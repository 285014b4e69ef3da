import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { initialState } from '../../../../src/environments/alfworld/engine.ts'
import { gameOf, loadGame } from '../../../../src/environments/alfworld/game.ts'
import {
  buildGame,
  draftGame,
  EVEN_SHARES,
  type GeneratorRecipe,
  isUnseenPair,
} from '../../../../src/environments/alfworld/generator/generate.ts'
import { type Difficulty, SIZES } from '../../../../src/environments/alfworld/generator/size.ts'
import { withWalkthrough } from '../../../../src/environments/alfworld/rewrite.ts'
import { solveGame } from '../../../../src/environments/alfworld/solver.ts'
import {
  goalOfSentence,
  sameGoal,
  sentenceOf,
  TASK_TYPES,
} from '../../../../src/environments/alfworld/tasks.ts'
import { seedOf } from '../../../../src/random.ts'

const recipe = (seed: number, size: Difficulty = 'easy'): GeneratorRecipe => ({
  seed: seedOf(seed, 'generated'),
  size: SIZES[size],
  shares: EVEN_SHARES,
  pairs: 'all',
})

test("the solver's plan wins on every generated game: 1,000 seeds", () => {
  const types = new Set<string>()
  for (let seed = 0; seed < 1_000; seed++) {
    const draft = draftGame(recipe(seed, seed % 20 === 0 ? 'hard' : seed % 5 === 0 ? 'medium' : 'easy'))
    const game = buildGame(draft)
    const plan = solveGame(game)
    assert.ok('commands' in plan && plan.by === 'routes', `seed ${seed}`)
    assert.is(plan.commands.length, draft.planLength, `seed ${seed}`)
    assert.ok(plan.commands.length > 0)
    const told = goalOfSentence(sentenceOf(initialState(game).observation) ?? '')
    assert.ok(told && sameGoal(told, draft.goal), `seed ${seed}`)
    types.add(draft.goal.type)
  }
  assert.is(types.size, TASK_TYPES.length)
})

test('the same recipe gives the same bytes, another seed other ones', () => {
  const bytes = (seed: number) =>
    JSON.stringify(withWalkthrough(buildGame(draftGame(recipe(seed, 'medium')))).file)
  assert.is(bytes(5), bytes(5))
  assert.is.not(bytes(5), bytes(6))
})

test('a written game reads back with its walkthrough and wins on the last command', () => {
  const game = withWalkthrough(buildGame(draftGame(recipe(11, 'hard'))))
  const again = loadGame(JSON.stringify(game.file))
  assert.equal(again.walkthrough, game.walkthrough)
  assert.is(again.file.solvable, true)
  for (const id of again.tables.ids.filter((id) => id.includes('_bar_')))
    assert.match(
      id,
      /^[a-z]+(_bar__(plus|minus)_\d\d_dot_\d\d){3}(_bar_[a-z]+basin)?$|^loc(_bar_(_minus_)?\d+){4}$/,
    )
})

test('a room keeps to its size', () => {
  for (let seed = 0; seed < 50; seed++) {
    const { scene } = draftGame(recipe(seed))
    const { receptacles, objects, objectTypes } = SIZES.easy
    assert.ok(scene.receptacles.length >= receptacles[0] && scene.receptacles.length <= receptacles[1])
    assert.ok(scene.objects.length <= objects[1])
    for (const { type } of scene.objects) assert.ok(type === 'DeskLamp' || objectTypes?.includes(type), type)
  }
})

test('unseen pairs never occur among the seen ones', () => {
  for (let seed = 0; seed < 40; seed++)
    for (const pairs of ['seen', 'unseen'] as const) {
      const { goal } = draftGame({ ...recipe(seed, 'medium'), pairs })
      assert.is(isUnseenPair(goal.object, goal.target), pairs === 'unseen')
    }
})

test('shares pick the task types; none that fits is an error', () => {
  for (let seed = 0; seed < 20; seed++)
    assert.is(
      draftGame({ ...recipe(seed), shares: { pick_heat_then_place_in_recep: 1 } }).goal.type,
      'pick_heat_then_place_in_recep',
    )
  assert.throws(() => draftGame({ ...recipe(1), shares: {} }), /no task type/)
  const bedroom = { ...SIZES.easy, rooms: ['bedroom' as const] }
  assert.throws(
    () => draftGame({ ...recipe(1), size: bedroom, shares: { pick_heat_then_place_in_recep: 1 } }),
    /no task type/,
  )
})

test('the texts pass the parser as they are', () => {
  const { file } = buildGame(draftGame(recipe(3, 'hard')))
  assert.is(gameOf(file).name, 'game')
})

test.run()
