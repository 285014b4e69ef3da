import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { seedOf } from 'rlanything/environments'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { codingEnvironment } from '../src/environment.ts'
import { createExecutor } from '../src/executor.ts'
import { openProvider } from './sandboxes.ts'

const provider = await openProvider('bwrap')
const executor = provider ? createExecutor({ provider }) : undefined
const options = { seed: seedOf(1), maxSteps: 1 }
const GENERATED = {
  kind: 'generated' as const,
  seed: 1,
  counts: { train: 20, 'in-domain': 10, ood: 10 },
  maxLevel: 4,
}

test('an episode is one program; its outcome is the share of tests passed, once it is settled', async () => {
  if (!executor) return
  const environment = codingEnvironment({ source: GENERATED, executor })
  const tasks = await environment.tasks('train')
  assert.is(tasks.length, 20)
  const [task] = tasks
  const problem = await environment.problem(task)
  const episode = await environment.reset(task, options)
  assert.match(episode.turn.observation, problem.question)
  assert.match(episode.turn.observation, problem.examples[0].input.trim())
  const right = episode.step(problem.solutions[0])
  assert.ok(right.turn.done)
  assert.throws(() => right.outcome(), /has not been run/)
  const settled = await environment.settle(right)
  assert.is(settled.outcome(), 1)
  assert.is(settled.turn.ended, 'goal')
  assert.is(await environment.settle(settled), settled)
  const fenced = await environment.settle(episode.step(`so:\n\`\`\`python\n${problem.solutions[0]}\`\`\``))
  assert.is(fenced.outcome(), 1)
  const [{ output }] = problem.tests
  const partly = await environment.settle(episode.step(`print("""${output}""")`))
  const same = problem.tests.filter((other) => other.output === output).length
  assert.is(partly.outcome(), same / problem.tests.length)
  for (const hopeless of ['', 'exit(1)', 'print(', '```js\nx\n```', '\0'])
    assert.is((await environment.settle(episode.step(hopeless))).outcome(), 0, hopeless)
})

test('generated tasks travel as plain data, validate, and are rewritten to others that do', async () => {
  if (!executor) return
  const environment = codingEnvironment({ source: GENERATED, executor })
  for (const task of (await environment.tasks('ood')).slice(0, 4)) {
    const again = JSON.parse(JSON.stringify(task))
    assert.equal(await environment.validate(again), { ok: true })
    const request = { accuracy: 1, critique: '', taken: [task.id], seed: seedOf(4) }
    const rewrite = await environment.rewrite({ task: again, direction: 'harder', ...request })
    if ('refused' in rewrite) continue
    assert.is.not(rewrite.task.id, task.id)
    assert.equal(await environment.validate(rewrite.task), { ok: true })
  }
})

test('problem files give tasks by split; written candidates are tasks too', async () => {
  if (!executor) return
  const folder = mkdtempSync(join(tmpdir(), 'rl-coding-test-'))
  const record = {
    id: 'set/1',
    question: 'Add one.',
    test_input: ['1\n', '2\n'],
    test_output: ['2', '3'],
    reference_solution: 'print(int(input()) + 1)',
    split: 'test',
  }
  writeFileSync(join(folder, 'problems.jsonl'), `${JSON.stringify(record)}\n`)
  const environment = codingEnvironment({ source: { kind: 'files', paths: [folder] }, executor })
  assert.is((await environment.tasks('train')).length, 0)
  const [task] = await environment.tasks('test')
  assert.equal(task.recipe, { kind: 'file', id: 'set/1' })
  assert.equal(await environment.validate(task), { ok: true })
  const episode = await environment.reset(task, options)
  assert.is((await environment.settle(episode.step('print(int(input()) + 1)'))).outcome(), 0, 'no fence')
  const fixed = '```python\nprint(2)\n```'
  assert.is((await environment.settle(episode.step(fixed))).outcome(), 0.5)
  const request = { accuracy: 1, critique: '', taken: [], seed: seedOf(4) }
  assert.ok('refused' in (await environment.rewrite({ task, direction: 'harder', ...request })))
  const written = {
    ...task,
    id: 'set/1#2',
    recipe: {
      kind: 'written',
      problem: { question: 'Double.', test_input: ['1', '2', '3', '4'], test_output: ['2', '4', '6', '8'] },
    },
  }
  const doubled = (await environment.reset(written, options)).step('```python\nprint(2 * int(input()))\n```')
  assert.is((await environment.settle(doubled)).outcome(), 1)
  rmSync(folder, { recursive: true })
})

test('a rewriter is told the share of each shown test, and its answer is a task only where it is a new problem', async () => {
  const environment = codingEnvironment({ source: GENERATED, executor })
  const [task, other] = await environment.tasks('train')
  const problem = await environment.problem(task)
  const long = { input: 'x'.repeat(101), output: '1', share: 0 }
  const request = {
    ...{ task, root: other, direction: 'harder' as const, accuracy: 1, critique: '', seed: seedOf(4) },
    taken: [task.id],
    tested: {
      own: problem.tests.map((_, i) => (i === 1 ? 0.25 : 1)),
      written: [long, { input: '5', output: '6', share: 0.5 }],
    },
  }
  const { root, tests, generated } = await environment.briefing!(request)
  assert.match(root, (await environment.problem(other)).question)
  assert.match(tests.split('\n')[1], `${JSON.stringify(problem.tests[1].output)}: 25 % pass`)
  assert.is(generated, '- input "5", output "6": 50 % pass')

  const answer = (question: string, count: number) =>
    `{"question": ${JSON.stringify(question)}, "test_input": ${JSON.stringify(Array(count).fill('1'))}, "test_output": ${JSON.stringify(Array(count).fill('2'))}}`
  for (const refused of ['no idea', answer('Add one.', 3), answer(`${task.goal} `, 4)])
    assert.ok('refused' in (await environment.rewriteAs!(request, refused)), refused)
  const rewrite = await environment.rewriteAs!(request, `So: ${answer('Add one.', 4)}`)
  assert.ok('task' in rewrite)
  assert.is((await environment.problem(rewrite.task)).tests.length, 4)
  const again = { ...request, taken: [task.id, rewrite.task.id] }
  assert.ok('refused' in (await environment.rewriteAs!(again, answer('Add one.', 4))))
})

test.after(() => executor?.close())
test.run()
