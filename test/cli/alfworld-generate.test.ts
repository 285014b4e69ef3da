import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { initialState, step } from '../../src/environments/alfworld/engine.ts'
import { loadGame } from '../../src/environments/alfworld/game.ts'

const rl = (...args: string[]) =>
  execFileSync(process.execPath, ['src/rl.ts', 'alfworld', 'generate', ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  })

function filesIn(folder: string): Map<string, string> {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\.(json|pddl|tw-pddl)$/.test(name),
  )
  return new Map(names.sort().map((name) => [name, readFileSync(join(folder, name), 'utf8')]))
}

test('rl alfworld generate writes games that win by their walkthrough, the same bytes for the same seed', () => {
  const out = mkdtempSync(join(tmpdir(), 'alfworld-'))
  try {
    const written = ['a', 'b'].map((name) => {
      const output = rl('--out', join(out, name), '--count', '6', '--seed', '3', '--difficulty', 'easy')
      assert.match(output, /games=6 difficulty=easy seed=3/)
      return filesIn(join(out, name))
    })
    assert.equal([...written[0]], [...written[1]])
    const games = [...written[0]].filter(([name]) => name.endsWith('game.tw-pddl'))
    assert.is(games.length, 6)
    for (const [name, text] of games) {
      assert.match(name, /^json_2\.1\.1\/train\/\w+-\w+-None-\w+-\d+\/trial_T\d+_\d+_\d+\/game\.tw-pddl$/)
      const game = loadGame(text, name)
      let state = initialState(game)
      for (const command of game.walkthrough ?? []) {
        assert.not.ok(state.won)
        state = step(state, command)
      }
      assert.ok(state.won, name)
      assert.is(written[0].get(name.replace('game.tw-pddl', 'initial_state.pddl')), game.file.pddl_problem)
      const trajectory = JSON.parse(written[0].get(name.replace('game.tw-pddl', 'traj_data.json')) ?? '')
      assert.ok(name.includes(`${trajectory.task_type}-${trajectory.pddl_params.object_target}-`))
    }
  } finally {
    rmSync(out, { recursive: true, force: true })
  }
})

test('a wrong flag is named', () => {
  assert.throws(() => rl('--out', '/nowhere', '--difficulty', 'huge'), /--difficulty is 'huge'/)
  assert.throws(() => rl(), /--out is missing/)
})

test.run()
