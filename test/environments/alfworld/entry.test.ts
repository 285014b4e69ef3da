/** The engine as a program imports it, on the committed games. */

import { alfworldEngine } from 'rlanything/environments'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { openDataset } from '../../../src/environments/alfworld/dataset.ts'
import { FIXTURES } from './games.ts'

test('a program loads a game, plays the commands of a plan to the goal, and goes on from an older state', async () => {
  const { loadGame, initialState, step, solve } = await alfworldEngine()
  const [entry] = (await openDataset(FIXTURES)).games
  assert.ok(entry)
  const first = initialState(loadGame(await entry.read()), { maxSteps: 200 })
  const plan = solve(first)
  assert.ok('commands' in plan)
  const last = plan.commands.reduce(step, first)
  assert.equal([last.won, last.done, last.score, last.steps], [true, true, 1, plan.commands.length])
  assert.equal([first.steps, first.won, step(first, plan.commands[0] ?? '').steps], [0, false, 1])
})

test.run()
