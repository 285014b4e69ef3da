/** What a language model is told of a task, and that its answers are proven as symbolic rewrites are. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { readPrompt } from '../../../src/actors/learner/prompts.ts'
import { alfworldEnvironment } from '../../../src/environments/alfworld/environment.ts'
import { goalOfSentence } from '../../../src/environments/alfworld/tasks.ts'
import type { Direction, RewriteRequest, Task } from '../../../src/environments/port.ts'
import { textOf } from '../../../src/models/content.ts'

const environment = alfworldEnvironment({
  source: { kind: 'generated', seed: 9, counts: { train: 12, 'in-domain': 0, ood: 0 }, size: 'easy' },
})
const tasks = await environment.tasks('train')

const requestFor = (task: Task, direction: Direction = 'harder'): RewriteRequest => ({
  task,
  direction,
  accuracy: 1,
  critique: '',
  taken: [task.id],
  seed: [1, 2],
})

/** The words of the task that the symbolic rules would make. */
async function symbolicPair(request: RewriteRequest): Promise<string | null> {
  const rewrite = await environment.rewrite(request)
  if ('refused' in rewrite) return null
  const goal = goalOfSentence(rewrite.task.goal)!
  return goal.type === 'look_at_obj_in_light'
    ? `${goal.target},${goal.object}`
    : `${goal.object},${goal.target}`
}

test('the briefing fills the prompt, for every task type and direction', async () => {
  const prompt = readPrompt('alfworld-rewrite')
  for (const task of tasks)
    for (const direction of ['harder', 'easier'] as const) {
      const values = await environment.briefing!(requestFor(task, direction))
      const told = { direction, accuracy: '1 of 8', goal: task.goal, failures: 'none' }
      const content = textOf(prompt.render({ ...values, ...told })[1])
      assert.not.match(content, '{{')
      const { object, target } = goalOfSentence(task.goal)!
      assert.ok(values.tokens.includes(object) && values.tokens.includes(target))
      assert.ok(values.taken.includes(values.tokens), 'the present pair counts as tried')
      assert.match(values.room, new RegExp(`- ${object}: ${object} \\d`))
    }
})

test('a pair that the symbolic rules would choose is taken, with the sentence that belongs to it', async () => {
  let made = 0
  for (const task of tasks) {
    const request = requestFor(task)
    const pair = await symbolicPair(request)
    if (pair === null) continue
    const rewrite = await environment.rewriteAs!(request, `I take this.\n\\boxed{${pair}}`)
    if ('refused' in rewrite) throw new Error(rewrite.refused)
    assert.equal(await environment.validate(rewrite.task), { ok: true })
    assert.is(rewrite.task.kind, task.kind)
    const { turn } = await environment.reset(rewrite.task, { seed: [0, 0], maxSteps: 3 })
    assert.ok(turn.observation.endsWith(`Your task is to: ${rewrite.task.goal}`))
    const again = { ...request, taken: [...request.taken, rewrite.task.id] }
    assert.ok('refused' in (await environment.rewriteAs!(again, `\\boxed{${pair}}`)), 'only once')
    made++
  }
  assert.ok(made > 5, `${made}`)
})

test('what is no new task of the room is refused with a reason', async () => {
  for (const task of tasks.slice(0, 6)) {
    const request = requestFor(task)
    const { tokens } = await environment.briefing!(request)
    const refused = async (answer: string) => {
      const rewrite = await environment.rewriteAs!(request, answer)
      assert.ok('refused' in rewrite, answer)
      return 'refused' in rewrite ? rewrite.refused : ''
    }
    assert.match(await refused(`\\boxed{${tokens}}`), 'that of the parent')
    assert.is(await refused('mug, desk'), 'the answer has no two words in a box')
    assert.is(await refused('\\boxed{mug}'), 'the answer has no two words in a box')
    assert.match(await refused('\\boxed{unicorn,rainbow}'), /there is no|kept for tests/)
  }
})

test.run()
