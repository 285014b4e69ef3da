import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { demonstrate } from '../../../src/actors/policy/demonstrations.ts'
import { openDataset } from '../../../src/environments/alfworld/dataset.ts'
import {
  type AlfworldEnvironment,
  alfworldEnvironment,
} from '../../../src/environments/alfworld/environment.ts'
import { isUnseenPair } from '../../../src/environments/alfworld/generator/generate.ts'
import { canonicalType } from '../../../src/environments/alfworld/generator/tables.ts'
import { writeGame } from '../../../src/environments/alfworld/generator/write.ts'
import { withWalkthrough } from '../../../src/environments/alfworld/rewrite.ts'
import {
  goalOfProblem,
  goalOfSentence,
  TASK_TYPES,
  withSentence,
} from '../../../src/environments/alfworld/tasks.ts'
import type { Task } from '../../../src/environments/port.ts'
import type { RlError } from '../../../src/errors.ts'
import { seedOf } from '../../../src/random.ts'
import { FIXTURES } from './games.ts'
import { playExpert, roomOf } from './play.ts'

const seed = seedOf(0)
const generated = () =>
  alfworldEnvironment({
    source: { kind: 'generated', seed: 4, counts: { train: 30, 'in-domain': 20, ood: 20 }, size: 'easy' },
    cachedGames: 8,
  })
const folder = () => alfworldEnvironment({ source: { kind: 'folder', path: FIXTURES } })

test('tasks are the same every time, differ between splits and travel as JSON', async () => {
  const environment = generated()
  const all = await Promise.all(['train', 'in-domain', 'ood'].map((split) => environment.tasks(split)))
  assert.equal(
    all.map((tasks) => tasks.length),
    [30, 20, 20],
  )
  const ids = all.flat().map(({ id }) => id)
  assert.is(new Set(ids).size, ids.length)
  assert.equal(await generated().tasks('train'), all[0])
  const again = JSON.parse(JSON.stringify(all[0][7]))
  const first = await environment.reset(all[0][7], { seed, maxSteps: 10 })
  const second = await generated().reset(again, { seed, maxSteps: 10 })
  assert.equal(second.turn, first.turn)
  assert.ok(first.turn.observation.endsWith(`Your task is to: ${all[0][7].goal}`))
  for (const [split, tasks] of all.entries())
    for (const { goal } of tasks) {
      const told = goalOfSentence(goal)
      assert.ok(told, goal)
      assert.is(isUnseenPair(canonicalType(told.object), canonicalType(told.target)), split === 2, goal)
    }
})

test('an unknown split or a foreign recipe is refused with its name', async () => {
  const refusal = (promise: Promise<unknown>) =>
    promise.then(
      () => '',
      (error: RlError) => error.message,
    )
  assert.match(await refusal(generated().tasks('test')), /no split 'test'/)
  const [task] = await generated().tasks('train')
  const wrong = { ...task, recipe: { ...task.recipe, seed: [1, -1] } }
  assert.match(await refusal(generated().reset(wrong, { seed, maxSteps: 5 })), /recipe\.seed\.1/)
  const [real] = await folder().tasks('train')
  const changed = { ...real, recipe: { ...real.recipe, sha256: '0'.repeat(64) } }
  assert.match(await refusal(folder().reset(changed, { seed, maxSteps: 5 })), /has changed/)
})

test('an episode is a value, ends at its goal or its limit, and then stays', async () => {
  const environment = generated()
  const [task] = await environment.tasks('train')
  const start = await environment.reset(task, { seed, maxSteps: 3 })
  const moved = start.step('look')
  assert.is(start.steps, 0)
  assert.is(moved.steps, 1)
  const fork = start.step('nonsense')
  assert.is(fork.turn.observation, 'Nothing happens.')
  let episode = moved
  while (!episode.turn.done) episode = episode.step('inventory')
  assert.is(episode.turn.ended, 'step-limit')
  assert.equal(episode.turn.admissible, [])
  assert.is(episode.outcome(), 0)
  assert.equal(episode.step('look').turn, episode.turn)
})

test('no rewrite of a training task has a pair that is kept for ood', async () => {
  const environment = alfworldEnvironment({
    source: { kind: 'generated', seed: 5, counts: { train: 40, 'in-domain': 0, ood: 0 }, size: 'medium' },
    rewrite: { anyType: true },
  })
  for (const [i, task] of (await environment.tasks('train')).entries()) {
    const direction = i % 2 === 0 ? 'harder' : 'easier'
    const request = { task, direction, accuracy: 0.5, critique: '', taken: [], seed: seedOf(i) } as const
    const rewrite = await environment.rewrite(request)
    const told = 'task' in rewrite ? goalOfSentence(rewrite.task.goal) : null
    if (told) assert.not.ok(isUnseenPair(canonicalType(told.object), canonicalType(told.target)))
  }
})

test('real games: played from a folder, judged, and rewritten without leaving it', async () => {
  const environment = folder()
  const tasks = await environment.tasks('train')
  assert.ok(tasks.length > 0)
  assert.equal(await environment.tasks('in-domain').then((own) => own.length > 0), true)
  const [task] = tasks
  assert.equal(await environment.validate(task), { ok: true })
  assert.ok((await environment.describe(task)).includes(task.goal))
  const dataset = await openDataset(FIXTURES)
  assert.ok(dataset.games.some(({ key }) => key === task.recipe.game))
  const request = { task, direction: 'harder', accuracy: 0.9, critique: '', taken: [], seed } as const
  const rewrite = await environment.rewrite(request)
  if ('task' in rewrite) {
    const episode = await environment.reset(rewrite.task, { seed, maxSteps: 50 })
    assert.ok(episode.turn.observation.includes(rewrite.task.goal))
    const actions = episode.turn.admissible.slice(0, 2)
    const progress = await environment.progress(rewrite.task, seed, actions)
    assert.is(progress?.length, 2)
  } else assert.match(rewrite.refused, /goals/)
})

test('types choose the tasks of each split, generated or read, and what they are rewritten to', async () => {
  const types = ['pick_two_obj_and_place', 'look_at_obj_in_light'] as const
  const kindsOf = (tasks: readonly { readonly kind: string }[]) =>
    [...new Set(tasks.map(({ kind }) => kind))].sort()
  const made = alfworldEnvironment({
    source: { kind: 'generated', seed: 1, size: 'easy', counts: { train: 12, 'in-domain': 12, ood: 12 } },
    types,
    rewrite: { anyType: true },
  })
  for (const split of ['train', 'in-domain', 'ood'] as const)
    assert.equal(kindsOf(await made.tasks(split)), types.toSorted(), split)
  const [task] = await made.tasks('train')
  for (let at = 0; at < 10 && task; at++) {
    const seed = [at, 1] as const
    const request = { task, direction: 'harder', accuracy: 0.9, critique: '', taken: [], seed } as const
    const rewrite = await made.rewrite(request)
    if ('task' in rewrite)
      assert.ok(
        types.some((type) => type === rewrite.task.kind),
        rewrite.task.kind,
      )
  }
  const out = mkdtempSync(join(tmpdir(), 'alfworld-'))
  try {
    const kinds: string[] = []
    for (const number of [1, 2, 3, 4, 5, 6, 7, 8]) {
      const game = withWalkthrough(roomOf(number, 'easy'))
      const goal = goalOfProblem(game.file.pddl_problem)
      assert.ok(goal)
      kinds.push(goal.type)
      await writeGame(join(out, 'json_2.1.1', 'train'), game, goal)
    }
    const [type] = kinds
    const read = alfworldEnvironment({
      source: { kind: 'folder', path: out },
      types: TASK_TYPES.filter((one) => one === type),
    })
    const tasks = await read.tasks('train')
    assert.equal(kindsOf(tasks), [type])
    assert.is(tasks.length, kinds.filter((one) => one === type).length)
  } finally {
    rmSync(out, { recursive: true })
  }
})

/** The names of a text in order of the alphabet. */
const namesIn = (text: string) => (text.match(/[a-z]+ \d+/g) ?? []).sort()
const introOf = (text = '') => text.slice(0, text.indexOf('Your task'))

test('random names are for training alone, each task in its own way, and a rewrite keeps them', async () => {
  const counts = { train: 6, 'in-domain': 3, ood: 3 }
  const source = { kind: 'generated', seed: 1, size: 'hard', counts } as const
  const plain = alfworldEnvironment({ source })
  const random = alfworldEnvironment({ source, randomized: { split: 'train', seed: 1 } })
  for (const split of ['in-domain', 'ood']) assert.equal(await random.tasks(split), await plain.tasks(split))
  const tasks = await random.tasks('train')
  assert.equal(
    tasks,
    await alfworldEnvironment({ source, randomized: { split: 'train', seed: 1 } }).tasks('train'),
  )
  const seen = async (environment: AlfworldEnvironment, of: readonly Task[]) =>
    Promise.all(
      of.map(
        async (task) => (await environment.reset(task, { seed: [1, 1], maxSteps: 50 })).turn.observation,
      ),
    )
  const own = await seen(random, tasks)
  assert.is.not(own.join(), (await seen(plain, await plain.tasks('train'))).join())
  assert.equal(own.map(namesIn), (await seen(plain, await plain.tasks('train'))).map(namesIn))
  for (const [index, task] of tasks.entries()) {
    let episode = await random.reset(task, { seed: [1, 1], maxSteps: 200 })
    const expert = random.expert(episode.turn, task)
    while (!episode.turn.done) {
      const action = expert.advise(episode.turn)
      episode = episode.step(action)
      expert.observe(action, episode.turn)
    }
    assert.is(episode.turn.ended, 'goal', task.id)
    const request = {
      task,
      direction: 'harder',
      accuracy: 0.9,
      critique: '',
      taken: [],
      seed: [index, 1],
    } as const
    const rewrite = await random.rewrite(request)
    if ('task' in rewrite) assert.is(introOf((await seen(random, [rewrite.task]))[0]), introOf(own[index]))
  }
})

test('the words of a person take the goal of the PDDL', async () => {
  const out = mkdtempSync(join(tmpdir(), 'alfworld-'))
  try {
    const game = withWalkthrough(roomOf(3, 'easy'))
    const goal = goalOfProblem(game.file.pddl_problem)
    assert.ok(goal)
    await writeGame(join(out, 'json_2.1.1', 'train'), game, goal)
    const [entry] = (await openDataset(out)).games
    const file = JSON.parse((await entry?.read()) ?? '')
    const grammar = withSentence(file.grammar, 'Tidy this up, like I said yesterday')
    writeFileSync(entry?.path ?? '', JSON.stringify({ ...file, grammar }))
    const environment = alfworldEnvironment({ source: { kind: 'folder', path: out } })
    const [task] = await environment.tasks('train')
    assert.ok(task)
    assert.is(task.goal, 'Tidy this up, like I said yesterday.')
    assert.is(task.kind, goal.type)
    const [shown] = await demonstrate(environment, [task], environment.expert, {
      noise: 0,
      maxSteps: 60,
      seed: seedOf(1),
    })
    assert.is(shown?.outcome, 1)
    const progress = await environment.progress(task, [1, 1], shown?.actions ?? [])
    assert.ok(progress && Math.max(...progress) > 0.5)
  } finally {
    rmSync(out, { recursive: true })
  }
})

test('games that are not marked as solvable are left out, and another game takes their place', async () => {
  const out = mkdtempSync(join(tmpdir(), 'alfworld-'))
  try {
    for (const number of [1, 2, 3, 4, 5]) {
      const game = withWalkthrough(roomOf(number, 'easy'))
      const goal = goalOfProblem(game.file.pddl_problem)
      assert.ok(goal)
      await writeGame(join(out, 'json_2.1.1', 'valid_seen'), game, goal)
    }
    const { games } = await openDataset(out)
    const marks = [false, null, undefined]
    for (const [index, solvable] of marks.entries()) {
      const file = JSON.parse(await games[2 * index].read())
      writeFileSync(games[2 * index].path, JSON.stringify({ ...file, solvable }))
    }
    const ofFolder = (counts?: Record<string, number>) =>
      alfworldEnvironment({ source: { kind: 'folder', path: out, counts } }).tasks('in-domain')
    const fit = [games[1].key, games[3].key]
    assert.equal(
      (await ofFolder()).map(({ recipe }) => recipe.game),
      fit,
    )
    assert.equal(
      (await ofFolder({ 'in-domain': 2 })).map(({ recipe }) => recipe.game),
      fit,
    )
    assert.is((await ofFolder({ 'in-domain': 1 })).length, 1)
  } finally {
    rmSync(out, { recursive: true })
  }
})

test('written games are read back as a data set: same task, same play', async () => {
  const out = mkdtempSync(join(tmpdir(), 'alfworld-'))
  try {
    const games = [1, 2, 3].map((number) => withWalkthrough(roomOf(number, 'medium')))
    for (const game of games) {
      const goal = goalOfProblem(game.file.pddl_problem)
      assert.ok(goal)
      await writeGame(join(out, 'json_2.1.1', 'train'), game, goal)
    }
    const environment = alfworldEnvironment({ source: { kind: 'folder', path: out } })
    const tasks = await environment.tasks('train')
    assert.is(tasks.length, 3)
    assert.is((await environment.tasks('ood')).length, 0)
    for (const game of games) {
      const task = tasks.find(({ recipe }) => String(recipe.game).endsWith(game.name))
      assert.ok(task, game.name)
      let episode = await environment.reset(task, { seed, maxSteps: 50 })
      const { commands, states } = playExpert(game)
      for (const [i, command] of commands.entries()) {
        episode = episode.step(command)
        assert.is(episode.turn.observation, states[i + 1].observation)
      }
      assert.is(episode.outcome(), 1)
      assert.is(episode.turn.ended, 'goal')
    }
  } finally {
    rmSync(out, { recursive: true, force: true })
  }
})

test.run()
