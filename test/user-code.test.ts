/** Calls into a user's code: what goes wrong is told by place, part and question. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { RlError } from '../src/errors.ts'
import {
  callEither,
  callNow,
  callWithin,
  onUserFault,
  placeOf,
  type UserCall,
  UserCodeError,
} from '../src/user-code.ts'
import { temporaryFolder } from './support/run.ts'

const folder = temporaryFolder()
const file = join(folder, 'theirs.mjs')
const helper = join(folder, 'helper.mjs')
writeFileSync(helper, `export function price(of) {\n  return of.stock.price\n}\n`)
writeFileSync(
  file,
  `import { price } from './helper.mjs'
export const here = () => { throw new Error('no door') }
export const below = () => price({})
export const waits = async () => { await null; return price({}) }
export const hangs = () => new Promise(() => {})
export const text = () => { throw 'a text' }
export const nothing = () => { throw undefined }
export const deep = () => deep()
`,
)
const theirs = await import(file)
const call: UserCall = {
  ...{ file, part: "step('left')", about: ["task 'a'", 'step 2'] },
  ...{ code: 'setting.broken', hint: 'see the docs' },
}
const LIMIT = { ms: 20, key: 'run.deadlines.stepSeconds' }

async function fault(work: () => unknown): Promise<UserCodeError> {
  try {
    await work()
  } catch (error) {
    assert.instance(error, UserCodeError)
    return error as UserCodeError
  }
  throw new Error('nothing was thrown')
}

test('what is thrown is told with the line of the first frame of theirs, the part and the question', async () => {
  const places: readonly (readonly [string, RegExp])[] = [
    ['here', /theirs\.mjs:2:35: step\('left'\) failed: no door \(task 'a', step 2\)$/],
    ['below', /helper\.mjs:2:19: step\('left'\) failed: TypeError: .*'price'\) \(task 'a', step 2\)$/],
    ['waits', /helper\.mjs:2:19: step\('left'\) failed: TypeError/],
    ['deep', /theirs\.mjs:8:\d+: step\('left'\) failed: RangeError/],
    ['text', /theirs\.mjs: step\('left'\) failed: threw 'a text' \(/],
    ['nothing', /theirs\.mjs: step\('left'\) failed: threw undefined \(/],
  ]
  for (const [name, message] of places) {
    const told = await fault(() => callEither(call, LIMIT, theirs[name]))
    assert.match(told.message, message)
    assert.is(told.fault, 'threw')
    assert.is(told.code, 'setting.broken')
  }
})

test("frames of Node are nobody's place: if there are no others, the module is named", () => {
  const error = new Error('no answer')
  error.stack = [
    'Error: no answer',
    '    at process.processTicksAndRejections (node:internal/process/task_queues:104:5)',
    '    at async node:internal/main/run_main_module:36:49',
    '    at file:///a/node_modules/ai/dist/index.js:1:2',
  ].join('\n')
  assert.is(placeOf(error, file), file)
})

test('an answer that does not come in time is told with the limit and its key', async () => {
  const told = await fault(() => callWithin(call, LIMIT, theirs.hangs))
  assert.match(told.message, /theirs\.mjs: step\('left'\): no answer within 0\.02 s \(task 'a', step 2\)/)
  assert.match(told.hint ?? '', /run\.deadlines\.stepSeconds/)
  assert.is(told.fault, 'late')
})

test('a promise where a value is expected is refused, and what it rejects with ends no process', async () => {
  const told = await fault(() => callNow(call, async () => Promise.reject(new Error('later'))))
  assert.match(told.message, /expected a value at once, got a promise/)
  assert.is(told.fault, 'nonsense')
})

test('an error with a code of its own keeps it, and its hint', async () => {
  const infra = await fault(() =>
    callNow(call, () => {
      throw new RlError('the server is gone', { code: 'rollout.infra', hint: 'start it' })
    }),
  )
  assert.is(infra.code, 'rollout.infra')
  assert.is(infra.hint, 'start it')
  const plain = await fault(() => callNow(call, () => Promise.reject()))
  assert.is(plain.code, 'setting.broken')
})

test('a part that asks another of the same module is named by the inner one, once', async () => {
  const heard: string[] = []
  onUserFault(({ message }) => heard.push(message))
  const outer = { ...call, part: 'progress()', about: [] }
  const told = await fault(() => callWithin(outer, LIMIT, async () => callNow(call, theirs.here)))
  onUserFault(() => {})
  assert.match(told.message, /step\('left'\) failed/)
  assert.equal(heard, [told.message])
})

test('a long message leaves room for the question', async () => {
  const told = await fault(() =>
    callNow(call, () => {
      throw new Error('x'.repeat(1_000_000))
    }),
  )
  assert.ok(told.message.length < 2_000)
  assert.match(told.message, /step 2\)$/)
})

test.run()
