import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { command } from '../../src/cli/audit.ts'
import { plantedCounts, plantedLine } from '../../src/cli/audit-planted.ts'
import { changeConfig, loggedConfig } from '../../src/config.ts'
import { RlError } from '../../src/errors.ts'
import { openLogReader } from '../../src/events/log-reader.ts'
import { startsOf } from '../../src/events/starts.ts'
import { loadRules } from '../../src/learning/registry.ts'
import { audit } from '../../src/replay/audit.ts'
import { temporaryFolder } from '../support/run.ts'
import { unpackFixture } from './fixture.ts'

const MODULE = `learning.module=${new URL('../../src/replay/planted-rules.ts', import.meta.url).pathname}`

const HACKS = [
  ['pays-repeats', 'repeats-pay'],
  ['pays-late', 'clock'],
  ['pays-words', 'wording-pays'],
  ['says-yes', 'scores-alike'],
  ['asks-once', 'score-repeats-itself'],
  ['hates-progress', 'scores-against-progress'],
  ['pays-failure', 'success-costs'],
] as const

test('the committed run is clean, and a planted reward is found under the name of its hack', async () => {
  const log = openLogReader(unpackFixture(temporaryFolder()).log)
  assert.equal(audit(log).findings, [])
  await loadRules(changeConfig(loggedConfig(startsOf(log).last.data.config), [MODULE]))
  for (const [rule, name] of HACKS) {
    const { findings } = audit(log, { set: [MODULE, `learning.reward=${rule}`] })
    const found = findings.find((finding) => finding.name === name)
    assert.ok(found, `${rule}: ${findings.map((finding) => finding.name).join(', ')}`)
    assert.ok(found.without < found.figure / 2)
    assert.ok(found.rollouts.length > 0)
  }
  assert.throws(() => audit(log, { set: ['rewardModel.mode=fixed'] }), /changes nothing here/)
  log.close()
})

test('the measure counts a run once, however much is found in it', () => {
  const result = (planted: boolean, ...findings: string[]) => ({ name: 'r', planted, findings })
  const counts = plantedCounts([
    result(true, 'clock', 'length-pays'),
    result(true),
    result(false),
    result(false, 'clock'),
  ])
  assert.equal(counts, { hacks: 2, found: 1, clean: 2, alarms: 1 })
  assert.is(plantedLine(counts), 'hacks=2 found=1 clean=2 alarms=1')
})

test('the measure of the audit takes neither a run nor keys', async () => {
  for (const [words, said] of [
    [['r1', '--planted'], /takes no run/],
    [['--planted', '--set', 'learning.lambda=1'], /takes no --set/],
  ] as const)
    try {
      await command.run([...words])
      assert.unreachable(words.join(' '))
    } catch (error) {
      assert.ok(error instanceof RlError && said.test(error.message), String(error))
    }
})

test.run()
