/** Runs with models that see: a scripted endpoint checks the images that it gets, as far as bytes tell; pages and desktops are real. */
import { createHash } from 'node:crypto'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { readPrompt } from '../src/actors/learner/prompts.ts'
import { canRun } from './environments/desktop/support.ts'
import { hasBrowser } from './environments/web/browser.ts'
import { eventsBelow } from './support/logged.ts'
import { decodePng } from './support/png.ts'
import { startProcess } from './support/processes.ts'
import { temporaryFolder } from './support/run.ts'
import { type Asked, completion, startScriptedEndpoint } from './support/scripted-endpoint.ts'

const root = temporaryFolder()
const eventsOf = eventsBelow(root)

type Part = { readonly type: string; readonly text?: string; readonly image_url?: { readonly url: string } }
type Question = {
  /** Of the rollout for a policy, else undefined. */
  readonly key: unknown
  readonly text: string
  /** SHA-256 of each image. */
  readonly images: readonly string[]
  /** Text and images in order, as letters. */
  readonly order: string
}

/** What was asked, with every image decoded and of the size that it has to have. */
function questionOf({ body }: Asked, size: { readonly width: number; readonly height: number }): Question {
  const messages = body.messages as { readonly content: string | readonly Part[] }[]
  const parts = messages.flatMap(({ content }): readonly Part[] =>
    typeof content === 'string' ? [{ type: 'text', text: content }] : content,
  )
  const images = parts.flatMap(({ image_url }) => {
    if (!image_url) return []
    const [head, data] = image_url.url.split(',')
    assert.is(head, 'data:image/png;base64')
    const bytes = Buffer.from(data, 'base64')
    const { width, height, colours } = decodePng(bytes)
    assert.equal({ width, height }, size)
    assert.ok(colours > 2, 'a picture of something')
    return [createHash('sha256').update(bytes).digest('hex')]
  })
  return {
    key: body.prompt_cache_key,
    text: parts.map(({ text = '' }) => text).join('\n'),
    images,
    order: parts.map(({ type }) => (type === 'text' ? 't' : 'i')).join(''),
  }
}

const call = (fields: object) =>
  `Action: Do it.\n<tool_call>\n${JSON.stringify({ name: 'computer_use', arguments: fields })}\n</tool_call>`

/** In turn: clicks, a text, an answer without an action, the end. */
const ANSWERS = [
  call({ action: 'left_click', coordinate: [120, 60] }),
  'I cannot say.',
  call({ action: 'type', text: 'hello' }),
  call({ action: 'terminate', status: 'success' }),
]

async function play(
  run: string,
  config: string,
  size: { readonly width: number; readonly height: number },
  settings: readonly string[],
): Promise<readonly Question[]> {
  const questions: Question[] = []
  const steps = new Map<unknown, number>()
  const endpoint = await startScriptedEndpoint((asked) => {
    const question = questionOf(asked, size)
    questions.push(question)
    const said = (content: string) => completion({ content }, { prompt: [1, 2, 3], tokens: [4] })
    if (question.text.includes('You judge single steps')) return said('It helps. \\boxed{1}')
    if (question.images.length === 0) return said('ok')
    const step = steps.get(question.key) ?? 0
    steps.set(question.key, step + 1)
    return said(ANSWERS[step % ANSWERS.length])
  })
  try {
    const all = [
      ...['policy', 'rewardModel'].flatMap((section) => [
        ...[`${section}.baseUrl=${endpoint.url}`, `${section}.model=scripted`],
        `${section}.apiKeyEnv=RL_TEST_WORD`,
      ]),
      ...['rewardModel.samples=2', 'evaluation.splits=[]', 'run.heartbeatSeconds=0.5'],
      ...['environment.tasksPerIteration=2', 'environment.rolloutsPerTask=2', 'environment.minGroupSize=2'],
      ...settings,
    ].flatMap((setting) => ['--set', setting])
    const words = ['src/main.ts', '--role', 'head', '--run', run, '--config', config, ...all]
    const head = startProcess(words, { RL_TEST_WORD: 'word', RL_RUNS: root })
    assert.is(await head.status, 0, head.output())
  } finally {
    await endpoint.close()
  }
  return questions
}

/** Policies were shown the last k screens in order behind their text, judges the two around each step; all of them are in the log. */
function check(run: string, questions: readonly Question[], k: number): void {
  const played = eventsOf(run, ['TrajectoryCompleted'])
  const shown = new Map(
    eventsOf(run, ['FramesRecorded']).map(({ data }) => [
      data.rollout,
      data.frames.map(({ sha256 }) => sha256),
    ]),
  )
  assert.ok(played.length >= 4)
  const judged: string[] = []
  for (const { data } of played) {
    const frames = shown.get(data.rollout) ?? []
    assert.is(frames.length, data.steps + 1)
    assert.is(data.promptSha256, readPrompt('screen-computer-use').sha256)
    assert.is(data.trainable, false)
    assert.is(data.invalid['it holds no action'] ?? 0, data.steps > 1 ? 1 : 0)
    assert.equal(data.actions, ANSWERS.slice(0, data.steps))
    const asked = questions.filter(({ key, images }) => key === data.rollout && images.length > 0)
    assert.is(asked.length, data.steps)
    for (const [step, { images, order, text }] of asked.entries()) {
      assert.equal(images, frames.slice(Math.max(0, step + 1 - k), step + 1))
      assert.match(order, /^tti+t$/)
      assert.is(text.includes('nothing yet'), step === 0)
      assert.is(text.includes('\n2. I cannot say.\n   ! '), step >= 2)
    }
    for (let step = 0; step < data.steps; step++) judged.push(`${frames[step]} ${frames[step + 1]}`)
  }
  const judging = questions.filter(({ text }) => text.includes('You judge single steps'))
  for (const { order } of judging) assert.is(order, 'ttitit')
  assert.equal(
    judging.map(({ images }) => images.join(' ')).sort(),
    [...judged, ...judged].sort(),
    'two judgements of each step, with the screen before and after it',
  )
  const [verdict] = eventsOf(run, ['StepScored'])
  assert.is(verdict.data.promptSha256, readPrompt('screen-judge').sha256)
  assert.equal(
    verdict.data.judgements.map(({ score }) => score),
    [1, 1],
  )
}

if (hasBrowser())
  test('pages: two iterations, the screens of three steps, a judge that sees', async () => {
    const questions = await play('pages', 'config/web-openai.yaml', { width: 1000, height: 1000 }, [
      ...['run.iterations=2', 'environment.tasks=4', 'environment.maxSteps=4'],
    ])
    check('pages', questions, 3)
  })

if (canRun('desktops for models that see', 'mousepad', 'xterm'))
  test('desktops: an iteration, the screens of two steps, a judge that sees', async () => {
    const questions = await play('desktops', 'config/desktop-openai.yaml', { width: 1280, height: 800 }, [
      ...['run.iterations=1', 'environment.desktop.programs=[mousepad, xterm]', 'environment.tasks=2'],
      ...['environment.maxSteps=4', 'policy.frames=2', 'environment.desktop.desktops=2'],
    ])
    check('desktops', questions, 2)
  })

test.run()
