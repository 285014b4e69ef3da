/** A batch in verl's columns (integrations/torch): shapes and values; verl itself is not needed. SKIP without PyTorch (RL_TEST_PYTHON). */
import { spawnSync } from 'node:child_process'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { encodeBatch } from '../src/actors/learner/batch-file.ts'
import { lacks, PYTHON } from './support/python.ts'

const PROGRAM = `
import json, sys
from rlanything_trainer.batch import read_batch
from rlanything_trainer.verl import columns, ready_advantages
try:
    told = columns(read_batch(sys.stdin.buffer.read()), 9)
    told["advantages"], _ = ready_advantages(told["token_level_rewards"], told["response_mask"])
    print(json.dumps({name: value.tolist() for name, value in told.items()}))
except ValueError as error:
    print(json.dumps({"error": str(error)}))
`

const sample = (id: string, tokens: readonly number[], mask: readonly number[], advantage: number) => ({
  ...{ id, tokens: Int32Array.from(tokens), mask: Uint8Array.from(mask), policyVersion: 0 },
  advantages: new Float32Array(tokens.length).fill(advantage),
  logprobs: Float32Array.from(tokens, (_, t) => -t / 4),
})

function columnsOf(samples: readonly ReturnType<typeof sample>[]) {
  const { stdout, stderr } = spawnSync(PYTHON, ['-c', PROGRAM], {
    input: encodeBatch({ run: 'test', version: 1, parentVersion: 0, samples }),
    env: { ...process.env, PYTHONPATH: 'integrations/torch' },
    encoding: 'utf8',
  })
  assert.ok(stdout, stderr)
  return JSON.parse(stdout)
}

test('prompts end and responses begin at one place; what is not trained between is no part of the loss', () => {
  const missing = lacks('torch', 'msgpack', 'numpy')
  if (missing) {
    process.stdout.write(`SKIP columns of verl: ${missing}\n`)
    return
  }
  const samples = [sample('a', [1, 2, 3, 4, 5], [0, 0, 1, 0, 1], 2), sample('b', [6, 7, 8], [0, 1, 1], -1)]
  const told = columnsOf(samples)
  assert.equal(told.prompts, [
    [1, 2],
    [9, 6],
  ])
  assert.equal(told.responses, [
    [3, 4, 5],
    [7, 8, 9],
  ])
  assert.equal(told.attention_mask, [
    [1, 1, 1, 1, 1],
    [0, 1, 1, 1, 0],
  ])
  assert.equal(told.position_ids[1].slice(1, 4), [0, 1, 2])
  assert.equal(told.response_mask, [
    [1, 0, 1],
    [1, 1, 0],
  ])
  assert.equal(told.old_log_probs, [
    [-0.5, 0, -1],
    [-0.25, -0.5, 0],
  ])
  assert.equal(told.advantages, [
    [2, 0, 2],
    [-1, -1, 0],
  ])
  const allowed = { offsets: Int32Array.from([0, 0, 2, 2]), tokens: Int32Array.from([7, 8]) }
  const restricted = { ...sample('c', [6, 7, 8], [0, 1, 0], 1), allowed }
  assert.match(columnsOf([restricted]).error, /segment c: .* allowed tokens/)
})

test.run()
