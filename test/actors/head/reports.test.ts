import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { openReports } from '../../../src/actors/head/terminal/reports.ts'

test('of long work one line is said now and then, without control characters; short work is not spoken of', () => {
  const said: string[] = []
  let now = 0
  const hear = openReports(
    (line) => said.push(line),
    () => now,
  )
  for (const [at, name, text] of [
    [0, 'policy', 'update 1\n'],
    [9_000, 'policy', 'update 2\n'],
    [16_000, 'policy', 'update 3\nupdate 4\u001b[2J\n'],
    [17_000, 'policy', 'update 5\n'],
    [17_000, 'adapter', 'opened\n'],
    [40_000, 'policy', '\n'],
    [41_000, 'policy', `${'x'.repeat(1_000)}\n`],
  ] as const) {
    now = at
    hear(name, text)
  }
  assert.equal(said, ['policy: update 4 [2J', `policy: ${'x'.repeat(92)}`])
})

test.run()
