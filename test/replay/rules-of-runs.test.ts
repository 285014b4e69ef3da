/** `rl rescore RUN --rules all` on the committed runs of programs and of pages. */
import '../support/packages.ts'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { ruleLines } from '../../src/cli/rescore-rules.ts'
import { openLogReader } from '../../src/events/log-reader.ts'
import { replay } from '../../src/replay/replay.ts'
import { rescoreAll } from '../../src/replay/rescore-all.ts'
import { temporaryFolder } from '../support/run.ts'
import { unpackFixture } from './fixture.ts'

test('committed runs of programs and of pages have rows for all rules, and say what their logs lack', () => {
  const root = temporaryFolder()
  for (const [name, lacking] of [
    [
      'run-coding',
      [
        'progress',
        'outlook',
        'best-progress',
        'best-outlook',
        'checklist',
        'principles',
        'similarity',
        'traced',
        'role',
        'trend',
        'drift',
      ],
    ],
    ['run-web', ['outlook', 'best-outlook', 'similarity', 'traced', 'role', 'trend', 'drift']],
  ] as const) {
    const log = openLogReader(unpackFixture(root, name).log)
    const replayed = replay(log)
    assert.is(replayed.difference, null)
    assert.ok(replayed.completed)
    const found = rescoreAll(log)
    assert.ok(found.rows.length >= 30 && found.steps > 0)
    assert.match(
      ruleLines(found, 1).at(-1) ?? '',
      new RegExp(`^rules=${found.rows.length} steps=${found.steps} refused=0$`),
    )
    assert.equal(
      found.rows.filter(({ lacks }) => lacks !== null).map(({ rule }) => rule),
      [...lacking],
      name,
    )
    for (const { figures, playing, rule } of found.rows.filter((row) => row.own)) {
      if (playing) assert.is(playing.otherwise, 0, rule)
      else assert.is(figures?.withBefore, 1, rule)
    }
    // Rules of every column that these runs log change the advantages.
    for (const rule of ['reward-model', 'implicit', 'duration', 'step-entropy', 'correct-resample']) {
      const figures = found.rows.find((row) => row.rule === rule)?.figures
      assert.ok((figures?.moved ?? 0) + (figures?.switched ?? 0) + (figures?.turned ?? 0) > 0, rule)
    }
    log.close()
  }
})

test.run()
