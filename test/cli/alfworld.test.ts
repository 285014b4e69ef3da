import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { test } from 'uvu'
import * as assert from 'uvu/assert'

const DATA = 'test/fixtures/alfworld'
const RECORDING = `${DATA}/transcripts/valid_seen__look_at_obj_in_light-Laptop-None-DeskLamp-328__trial_T20190908_201550_622420.jsonl.gz`
const GAME = `${DATA}/json_2.1.1/valid_seen/look_at_obj_in_light-Laptop-None-DeskLamp-328/trial_T20190908_201550_622420/game.tw-pddl.gz`
const recorded = gunzipSync(readFileSync(RECORDING))
  .toString()
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line))

type Result = { readonly status: number | null; readonly out: string; readonly err: string }

function rl(args: readonly string[], input = ''): Promise<Result> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, ['src/rl.ts', 'alfworld', ...args])
    const result = { out: '', err: '' }
    child.stdout.on('data', (chunk) => {
      result.out += chunk
    })
    child.stderr.on('data', (chunk) => {
      result.err += chunk
    })
    child.on('close', (status) => resolve({ status, ...result }))
    child.stdin.end(input)
  })
}

test('play prints one JSON object a line, as the recordings have them, also past the end', async () => {
  for (const { kind, steps } of recorded.slice(0, 3)) {
    const commands = steps.slice(1).map(({ cmd }: { cmd: string }) => `${cmd}\n`)
    const { status, out } = await rl(['play', '--game', GAME], commands.join(''))
    assert.is(status, 0)
    assert.equal(
      out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
      steps,
      kind,
    )
  }
})

test('play --max-steps ends the episode', async () => {
  const { out } = await rl(['play', '--game', GAME, '--max-steps', '2'], 'look\ndance\ninventory\n')
  const lines = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  assert.equal(
    lines.map(({ done }) => done),
    [null, false, true, true],
  )
  assert.equal(lines.map(({ obs }) => obs).slice(2), ['Nothing happens.', 'Nothing happens.'])
})

test('play --interactive talks to a person', async () => {
  const { out, status } = await rl(['play', '--game', GAME, '--interactive'], '\ninventory\n')
  assert.is(status, 0)
  assert.match(out, /Welcome to TextWorld[\s\S]*go to bed 1\n[\s\S]*You are not carrying anything\./)
})

test('play needs one game', async () => {
  assert.match((await rl(['play'])).err, /--game is missing/)
  assert.match((await rl(['play', '--game', DATA])).err, /holds 7 games, not one/)
  assert.match((await rl(['play', '--game', 'nowhere'])).err, /there is no nowhere/)
})

test('verify counts episodes, steps and mismatches, and shows the differences', async () => {
  const good = await rl(['verify', '--data', DATA, RECORDING])
  const steps = recorded.reduce((sum, episode) => sum + episode.steps.length, 0)
  assert.equal([good.status, good.out], [0, `episodes=${recorded.length} steps=${steps} mismatches=0\n`])
  const folder = mkdtempSync(join(tmpdir(), 'rl-verify-'))
  try {
    const wrong = structuredClone(recorded[0])
    wrong.steps[1].obs = 'You fall.'
    wrong.steps[2].admissible[0] = 'fly'
    wrong.steps[3].won = !wrong.steps[3].won
    const missing = { ...recorded[0], game: 'train/none/trial/game.tw-pddl' }
    const path = join(folder, 'wrong.jsonl')
    writeFileSync(path, `${[wrong, missing].map((episode) => JSON.stringify(episode)).join('\n')}\n`)
    const { status, out } = await rl(['verify', '--data', `${DATA}/json_2.1.1`, path])
    assert.is(status, 1)
    assert.match(out, /step 1, command .*: obs differs\n {2}recorded: "You fall\."/)
    assert.match(out, /step 2, .*: admissible differs\n {2}only recorded: \["fly"\]\n {2}only here:/)
    assert.match(out, /step 3, .*: won differs/)
    assert.match(out, /game differs[\s\S]*neither in/)
    assert.match(out, /\nepisodes=2 steps=\d+ mismatches=4\n$/)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('soak plays the walkthroughs', async () => {
  const { status, out } = await rl(['soak', '--data', DATA])
  assert.equal([status, out], [0, 'games=7 steps=35 skipped=1 failures=0\n'])
  assert.is(
    (await rl(['soak', '--data', DATA, '--split', 'train'])).out,
    'games=2 steps=15 skipped=0 failures=0\n',
  )
})

test('help and wrong words', async () => {
  assert.match((await rl(['--help'])).out, /rl alfworld verify/)
  assert.match((await rl(['soak', '--help'])).out, /The exit\s+status is 1/)
  const { status, err } = await rl(['dance'])
  assert.equal(
    [status, err],
    [2, "rl: there is no command 'alfworld dance' - rl alfworld --help lists them\n"],
  )
})

test.run()
