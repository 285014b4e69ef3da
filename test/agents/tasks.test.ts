/** Tasks of a user's agent: what is held out, and what is refused by line. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { readAgentTasks, settingLines } from '../../src/agents/tasks.ts'
import { temporaryFolder } from '../support/run.ts'

const root = temporaryFolder()
const file = join(root, 'tasks.jsonl')

function read(lines: readonly unknown[] | Buffer, seed = 1) {
  writeFileSync(
    file,
    Buffer.isBuffer(lines)
      ? lines
      : lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n'),
  )
  return readAgentTasks(file, seed)
}

const many = Array.from({ length: 40 }, (_, i) => ({ id: `t${i}`, question: `What is ${i}?`, answer: i }))
const ids = (tasks: readonly { readonly id: string }[]) => tasks.map(({ id }) => id)

test('a fifth is held out by the id, whatever the order of the lines', () => {
  const { train, heldOut } = read(many)
  assert.is(train.length, 32)
  assert.is(heldOut.length, 8)
  assert.equal(ids(read([...many].reverse()).heldOut).sort(), ids(heldOut).sort())
  assert.not.equal(ids(read(many, 2).heldOut), ids(heldOut))
})

test('splits of the lines are kept, and the whole line is the recipe', () => {
  const tasks = read(many.map((task, i) => (i < 3 ? { ...task, split: 'held-out' } : task)))
  assert.equal(ids(tasks.heldOut), ['t0', 't1', 't2'])
  const [first] = settingLines(tasks).split('\n')
  assert.equal(JSON.parse(first ?? ''), {
    id: 't3',
    goal: 'What is 3?',
    split: 'train',
    recipe: { id: 't3', question: 'What is 3?', answer: 3 },
  })
})

test('what cannot be a task is refused with file and line', () => {
  const refused: readonly (readonly [unknown[] | Buffer, RegExp])[] = [
    [[...many, { id: 't0' }], /tasks\.jsonl:41: the id 't0' stands in line 1 too/],
    [[...many, '{"id": '], /tasks\.jsonl:41: not JSON/],
    [[...many, '[]'], /tasks\.jsonl:41: a line is one object/],
    [[...many, { question: 'no id' }], /tasks\.jsonl:41: 'id' must be a text/],
    [[...many, { id: 'x', split: 3 }], /tasks\.jsonl:41: 'split' must be a text/],
    [many.slice(0, 9), /has 9 tasks; at least 10/],
    [[], /has 0 tasks/],
    [many.map((task) => ({ ...task, split: 'test' })), /no task to train on/],
    [Buffer.from([0x7b, 0xff, 0x7d]), /tasks\.jsonl:1/],
  ]
  for (const [lines, message] of refused) assert.throws(() => read(lines), message)
  assert.throws(() => readAgentTasks(join(root, 'nowhere'), 1), /cannot be read/)
})

test.run()
