import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { loadConfig } from '../../../src/config.ts'
import { causesOf } from '../../../src/environments/alfworld/critique.ts'
import { initialState } from '../../../src/environments/alfworld/engine.ts'
import { alfworldEnvironment } from '../../../src/environments/alfworld/environment.ts'
import { goalsIn, ownScore, scoreGoal } from '../../../src/environments/alfworld/goals.ts'
import { taskOf } from '../../../src/environments/alfworld/recipe.ts'
import {
  goalOfTokens,
  proposeGoal,
  rewriteGoal,
  rewrittenGame,
  withWalkthrough,
} from '../../../src/environments/alfworld/rewrite.ts'
import { solveGame } from '../../../src/environments/alfworld/solver.ts'
import {
  type Goal,
  goalOfProblem,
  goalOfSentence,
  sameGoal,
  sentenceOf,
} from '../../../src/environments/alfworld/tasks.ts'
import { openSetting } from '../../../src/environments/open.ts'
import type { Task } from '../../../src/environments/port.ts'
import { rng, seedOf } from '../../../src/random.ts'
import { fixtureGames, roomOf } from './play.ts'

const environment = alfworldEnvironment({
  source: { kind: 'generated', seed: 9, counts: { train: 40, 'in-domain': 0, ood: 0 }, size: 'easy' },
  rewrite: { anyType: true },
})

const fileTask = (name: string): Task =>
  taskOf({ source: 'file', game: name, sha256: '0'.repeat(64) }, 'any', 'any')

test('a config lets a rewrite be of another type of task, and without its key the type stays', async () => {
  const others = async (...set: readonly string[]) => {
    const config = loadConfig({ set: ['environment.tasks=12', ...set] })
    const { setting, environment } = await openSetting(config)
    let count = 0
    for (const [index, task] of (await environment.tasks('train')).slice(0, 12).entries()) {
      const seed = seedOf(index, 'type')
      const request = { task, direction: 'harder', accuracy: 1, critique: '', taken: [], seed } as const
      const rewrite = await setting.rewriting!.rewrite(environment, request)
      if ('task' in rewrite && rewrite.task.kind !== task.kind) count++
    }
    return count
  }
  assert.is(await others(), 0)
  assert.ok((await others('adaptation.anyType=true')) > 0)
})

test('a random choice takes any other goal of the room, whatever is asked for', async () => {
  const config = loadConfig({ set: ['environment.tasks=12', 'adaptation.choice=random'] })
  const { setting, environment } = await openSetting(config)
  const commands = async (task: Task) =>
    ((await setting.reference?.(environment, task)) ?? '').split('\n').length
  const moves = { harder: 0, easier: 0 }
  for (const [index, task] of (await environment.tasks('train')).slice(0, 12).entries()) {
    const made = await Promise.all(
      (['harder', 'easier'] as const).map((direction) =>
        setting.rewriting!.rewrite(environment, {
          ...{ task, direction, accuracy: 1, critique: '', taken: [], seed: seedOf(index, 'any') },
        }),
      ),
    )
    const [first, second] = made
    assert.equal(first, second)
    if (first === undefined || !('task' in first)) continue
    assert.is.not(first.task.id, task.id)
    const change = (await commands(first.task)) - (await commands(task))
    if (change > 0) moves.harder++
    if (change < 0) moves.easier++
  }
  assert.ok(moves.harder > 0 && moves.easier > 0, JSON.stringify(moves))
})

test('a rewritten task is valid, new, and harder or easier as asked', async () => {
  let made = 0
  for (const [index, task] of (await environment.tasks('train')).entries())
    for (const direction of ['harder', 'easier'] as const) {
      const taken = [task.id]
      let parent = task
      for (let version = 0; version < 3; version++) {
        const seed = seedOf(index, version)
        const request = { task: parent, direction, accuracy: 0.9, critique: 'never found it', taken, seed }
        const rewrite = await environment.rewrite(request)
        assert.equal(await environment.rewrite(request), rewrite, 'the same request gives the same task')
        if ('refused' in rewrite) {
          assert.match(rewrite.refused, /goals of this room/)
          break
        }
        assert.not.ok(taken.includes(rewrite.task.id))
        assert.equal(await environment.validate(rewrite.task), { ok: true })
        const told = goalOfSentence(rewrite.task.goal)
        assert.is(told?.type, rewrite.task.kind)
        const episode = await environment.reset(rewrite.task, { seed, maxSteps: 50 })
        assert.ok(episode.turn.observation.endsWith(`Your task is to: ${rewrite.task.goal}`))
        taken.push(rewrite.task.id)
        parent = rewrite.task
        made++
      }
    }
  assert.ok(made > 80, String(made))
})

test('all goals of a real scene: each can be reached and holds not yet', () => {
  for (const game of fixtureGames()) {
    const goals = goalsIn(game)
    assert.ok(goals.length > 20, game.name)
    const own = ownScore(game)
    assert.ok(own && goals.some(({ goal }) => sameGoal(goal, own.goal)))
    for (const { goal, planLength, difficulty } of goals.filter((_, i) => i % 9 === 0)) {
      const rewritten = rewrittenGame(game, goal, 'put a thing in place')
      const start = initialState(rewritten)
      assert.not.ok(start.won)
      const plan = solveGame(rewritten)
      assert.ok('commands' in plan, JSON.stringify(goal))
      assert.is(plan.commands.length, planLength)
      assert.ok(difficulty >= planLength)
    }
  }
})

test('sentence, walkthrough and folder name change with the goal', () => {
  const game = fixtureGames()[0]
  const own = goalOfProblem(game.file.pddl_problem)
  const { goal } = goalsIn(game).filter((scored) => own && !sameGoal(scored.goal, own))[3]
  const rewritten = withWalkthrough(rewrittenGame(game, goal, 'put it there'))
  assert.is(sentenceOf(rewritten.task), 'put it there')
  assert.equal(goalOfProblem(rewritten.file.pddl_problem), goal)
  assert.ok(rewritten.name.includes(`${goal.type}-${goal.object}-None-${goal.target}-`))
  assert.ok(rewritten.walkthrough && rewritten.walkthrough.length > 0)
  const head = (text: string) => text.slice(0, text.indexOf('(:goal'))
  assert.is(head(rewritten.file.pddl_problem), head(game.file.pddl_problem))
})

test('every refused candidate has a reason', () => {
  const refusals = new Set<string>()
  for (let seed = 0; seed < 30; seed++) {
    const game = roomOf(seed)
    const { world } = initialState(game)
    for (const type of [
      'pick_and_place_simple',
      'look_at_obj_in_light',
      'pick_heat_then_place_in_recep',
      'pick_two_obj_and_place',
    ] as const)
      for (const object of ['Mug', 'Book', 'Vase', 'DeskLamp', 'Egg', 'Pillow'])
        for (const target of ['Fridge', 'Desk', 'DeskLamp', 'CounterTop', 'Bed']) {
          const scored = scoreGoal(world, { type, object, target })
          if (!('refused' in scored)) continue
          assert.ok(scored.refused.length > 10)
          refusals.add(
            scored.refused.replace(
              /\b(mug|book|vase|desklamp|egg|pillow|fridge|desk|countertop|bed)\b/g,
              'X',
            ),
          )
        }
  }
  for (const reason of [
    'there is no X in the room',
    'a X cannot contain a X',
    'there is only one X',
    'a X cannot be heated',
    'a X cannot be picked up',
    'there is no X that can be turned on',
    'the goal holds at the start',
  ])
    assert.ok(refusals.has(reason), `${reason}: ${[...refusals].join(' | ')}`)
})

test("the parent's own goal and earlier versions are refused, also under the other sentence", () => {
  const game = fixtureGames()[0]
  const task = fileTask(game.name)
  const own = goalOfProblem(game.file.pddl_problem) as Goal
  const random = () => rng(seedOf(1))
  assert.equal(proposeGoal(game, task, own, [], random()), { refused: 'the goal is that of the parent' })
  const other = goalsIn(game, [own.type]).find(({ goal }) => !sameGoal(goal, own))?.goal as Goal
  const first = proposeGoal(game, task, other, [], random())
  assert.ok('task' in first)
  assert.equal(proposeGoal(game, task, other, [first.task.id], random()), {
    refused: 'the goal is that of an earlier version',
  })
  assert.equal(proposeGoal(game, first.task, own, [task.id], random()), {
    refused: 'the goal is that of an earlier version',
  })
})

test('the critique steers: easier for want of searching means less to search', () => {
  let less = 0
  let more = 0
  for (let seed = 0; seed < 60; seed++) {
    const game = roomOf(seed, 'medium')
    const score = (critique: string) => {
      const rewrite = rewriteGoal(
        game,
        {
          task: fileTask(game.name),
          direction: 'easier',
          accuracy: 0,
          critique,
          taken: [],
          seed: seedOf(seed),
        },
        { anyType: true },
      )
      if ('refused' in rewrite) return null
      const goal = rewrite.task.recipe.goal as Goal
      const scored = scoreGoal(initialState(game).world, goal)
      return 'refused' in scored ? null : scored.search
    }
    const guided = score('It did not find the object: search longer.')
    const blind = score('')
    if (guided === null || blind === null) continue
    if (guided < blind) less++
    if (guided > blind) more++
  }
  assert.ok(less > more, `${less} against ${more}`)
})

test('the words of critiques name causes', () => {
  assert.equal(causesOf('The agent took the wrong object and then put it in the wrong receptacle.'), [
    'wrong-object',
    'wrong-receptacle',
  ])
  assert.equal(causesOf('It forgot to open the fridge.'), ['open'])
  assert.equal(causesOf('It failed to heat the egg.'), ['treat'])
  assert.equal(causesOf('It never found the mug.'), ['search'])
  assert.equal(causesOf('It kept wandering back and forth, repeating itself.'), ['wander'])
  assert.equal(causesOf('cause: not-found'), ['search'])
  assert.equal(causesOf(''), [])
  assert.equal(causesOf('1x never found it\n7x it has no effect\n2x not found'), ['wander', 'search'])
})

test('the tokens of an answer become a goal, swapped where only that fits', () => {
  const game = fixtureGames().find(({ name }) => name.includes('pick_cool'))
  assert.ok(game)
  const parent = goalOfProblem(game.file.pddl_problem) as Goal
  const answer = (a: string, b: string) => goalOfTokens(game, parent, `I think \\boxed{${a}, ${b}}.`)
  const straight = answer(`${parent.object}Type`, `"${parent.target}"`)
  assert.ok(straight && sameGoal(straight, parent))
  const swapped = answer(parent.target, parent.object)
  assert.ok(swapped && sameGoal(swapped, parent))
  assert.is(goalOfTokens(game, parent, 'no box'), null)
  assert.is(goalOfTokens(game, parent, '\\boxed{Apple}'), null)
})

test.run()
