/** What transformers says of folders, asked of test/models/conformance/reference.py. */
import { spawnSync } from 'node:child_process'
import * as assert from 'uvu/assert'
import { PYTHON } from './python.ts'

const SCRIPT = new URL('../models/conformance/reference.py', import.meta.url).pathname

export function runReference(args: readonly string[], input = ''): string {
  const { status, stdout, stderr } = spawnSync(PYTHON, [SCRIPT, ...args], {
    ...{ input, encoding: 'utf8', maxBuffer: 2 ** 28, timeout: 300_000 },
    env: { ...process.env, OMP_NUM_THREADS: '1' },
  })
  assert.is(status, 0, stderr.slice(-2000))
  return stdout
}

export const ask = <Answers>(requests: Readonly<Record<string, unknown>>): Answers =>
  JSON.parse(runReference(['ask'], JSON.stringify(requests)))
