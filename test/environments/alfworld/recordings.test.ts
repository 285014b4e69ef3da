import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { openDataset } from '../../../src/environments/alfworld/dataset.ts'
import { initialState, step } from '../../../src/environments/alfworld/engine.ts'
import { loadGame } from '../../../src/environments/alfworld/game.ts'
import { parseTranscript, verifyTranscript } from '../../../src/environments/alfworld/transcript.ts'
import { factsOf } from '../../../src/environments/alfworld/world.ts'
import { FIXTURES } from './games.ts'

const SHARED = '../shared/data/alfworld'

/** Replays all recordings of a folder; the number of steps. */
async function replay(root: string): Promise<number> {
  const dataset = await openDataset(root)
  let steps = 0
  for (const file of readdirSync(join(root, 'transcripts'))) {
    const lines = gunzipSync(readFileSync(join(root, 'transcripts', file)))
      .toString()
      .trim()
      .split('\n')
    for (const [i, line] of lines.entries()) {
      const transcript = parseTranscript(line, `${file}, line ${i + 1}`)
      const entry = dataset.find(transcript.game)
      assert.ok(entry, transcript.game)
      const game = loadGame((await entry?.read()) ?? '', transcript.game)
      assert.equal([...verifyTranscript(game, transcript)], [])
      checkFacts(
        line,
        transcript.steps.flatMap(({ cmd }) => cmd ?? []),
        game,
      )
      steps += transcript.steps.length
    }
  }
  return steps
}

/** The facts after the last step, as far as texts can show them. */
function checkFacts(line: string, commands: readonly string[], game: ReturnType<typeof loadGame>): void {
  const shown = [
    'atlocation',
    'inreceptacle',
    'not_inreceptacle',
    'objectatlocation',
    'holds',
    'opened',
    'isclean',
    'ishot',
    'iscool',
    'istoggled',
    'issliced',
  ]
  const world = commands.reduce(advanceAll, initialState(game)).world
  const here = shown.flatMap((p) => factsOf(world, p).map((args) => `${p}(${args.join(', ')})`))
  const recorded: string[] = JSON.parse(line).final_dynamic_facts
  assert.equal(here.sort(), recorded.filter((fact) => shown.includes(fact.split('(')[0])).sort())
}

const advanceAll = (state: ReturnType<typeof initialState>, command: string) =>
  step({ ...state, done: false }, command)

test('the fixtures: recorded episodes of both releases replay without a difference', async () => {
  assert.is(await replay(FIXTURES), 842)
})

test('all recorded episodes at hand replay without a difference', async () => {
  if (!existsSync(SHARED)) return console.log(`SKIP all recordings: no ${SHARED}`)
  assert.is(await replay(SHARED), 6066)
})

test('all walkthroughs win on their last step', async () => {
  if (!existsSync(SHARED)) return console.log(`SKIP all walkthroughs: no ${SHARED}`)
  const { games } = await openDataset(SHARED)
  let played = 0
  for (const { key, read } of games) {
    const game = loadGame(await read(), key)
    if (game.walkthrough === null) continue
    const states = [initialState(game)]
    for (const command of game.walkthrough) states.push(step(states[states.length - 1], command))
    assert.is(
      states.findIndex(({ won }) => won),
      game.walkthrough.length,
      key,
    )
    played++
  }
  assert.is(played, 3693)
})

test('a recording of another form is refused with its place', () => {
  assert.throws(() => parseTranscript('{', 'a.jsonl, line 3'), /a\.jsonl, line 3: no valid JSON/)
  assert.throws(() => parseTranscript('{"game": "g"}', 'x'), /x: no recorded episode/)
  const steps = [{ cmd: 'look', obs: '', admissible: [], won: false }]
  assert.throws(
    () => parseTranscript(JSON.stringify({ game: 'g', steps }), 'x'),
    /step 0 must have the command null/,
  )
})

test.run()
