import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { readRecorded, readTraces } from '../../../src/actors/rollout/recorded-actions.ts'
import { aLol, rlPlus } from '../../../src/learning/outside.ts'
import { temporaryFolder } from '../../support/run.ts'

const close = (a: number, b: number) => assert.ok(Math.abs(a - b) <= 1e-6, `${a}, not ${b}`)
const share = fc.double({ min: 0, max: 1, noNaN: true })

test('rl-plus: the ratio is 2 pi / (pi_old + om), and a likely token counts less', () => {
  const { logprobs, advantages } = rlPlus([Math.log(0.5), 0], 1, [0, 0, 0])
  // om = 0.75, so the sampling stands for (0.5 + 0.75) / 2.
  close(Math.exp(logprobs[0] ?? 0), 0.625)
  close(Math.exp(logprobs[1] ?? 0), 1)
  // The z-score of 1 among 0, 0, 0 and 1 is 0.75 / sqrt(3 / 16).
  close(advantages[0] ?? 0, (0.75 / Math.sqrt(3 / 16)) * Math.sqrt(0.5))
  assert.is(advantages[1], 0)
  assert.equal([...rlPlus([-1], 1, [1, 1]).advantages], [0])
})

test('a-lol: a trajectory that is no better than the group teaches nothing', () => {
  fc.assert(
    fc.property(share, fc.array(share, { minLength: 1 }), (value, group) => {
      const mean = group.reduce((sum, one) => sum + one, 0) / group.length
      const { advantages, logprobs } = aLol([-1, -2], value, group)
      assert.equal([...logprobs], [-1, -2])
      assert.ok(advantages.every((one) => one >= 0 && Number.isFinite(one)))
      if (value < mean - 1e-9) assert.equal([...advantages], [0, 0])
    }),
  )
  assert.equal([...aLol([-1], 1, [0, 1]).advantages], [1])
})

test('a file is read line by line, and a wrong line is named', () => {
  const file = join(temporaryFolder(), 'outside.jsonl')
  writeFileSync(file, '{"task":"a","actions":["go"],"outcome":1}\n\n{"task":"b","actions":[]}\n')
  assert.equal(readRecorded(file, 'learning.outside'), [
    { task: 'a', actions: ['go'] },
    { task: 'b', actions: [] },
  ])
  for (const line of ['{"task":"a"}', 'null', 'go', '{"task":1,"actions":[]}']) {
    writeFileSync(file, `{"task":"a","actions":["go"]}\n${line}\n`)
    assert.throws(() => readRecorded(file, 'learning.outside'), /outside\.jsonl:2 has no task and actions/)
  }
})

test('a task has one trace, with an action at least', () => {
  const file = join(temporaryFolder(), 'traces.jsonl')
  writeFileSync(file, '{"task":"a","actions":["go"]}\n{"task":"b","actions":["go","back"]}\n')
  assert.equal([...readTraces(file).keys()], ['a', 'b'])
  writeFileSync(file, '{"task":"a","actions":["go"]}\n{"task":"a","actions":["back"]}\n')
  assert.throws(() => readTraces(file), /has two traces for task 'a'/)
  writeFileSync(file, '{"task":"a","actions":[]}\n')
  assert.throws(() => readTraces(file), /has a trace without actions for task 'a'/)
})

test.run()
