/** A policy that plays by itself learns instructions too, with the judge's critiques, from one endpoint. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { runFolder } from '../src/broker/connection.ts'
import { openLogReader } from '../src/events/log-reader.ts'
import { replay } from '../src/replay/replay.ts'
import { plain } from './support/against-endpoint.ts'
import { eventsBelow } from './support/logged.ts'
import { startHead } from './support/processes.ts'
import { temporaryFolder } from './support/run.ts'
import { startScriptedEndpoint } from './support/scripted-endpoint.ts'

const root = temporaryFolder()
const eventsOf = eventsBelow(root)
const LESSON = 'Open things before you look into them.'

type Message = { readonly role: string; readonly content: string }

test('its prompts begin with the text of their version, and its proposer reads what the judge says', async () => {
  const prompts = new Map<string, string[]>()
  const endpoint = await startScriptedEndpoint(({ body }) => {
    const model = String(body.model)
    const messages = (body.messages ?? []) as readonly Message[]
    const all = prompts.get(model) ?? []
    prompts.set(model, all)
    all.push(messages.map(({ role, content }) => `${role}: ${content}`).join('\n'))
    const said =
      model === 'proposer'
        ? JSON.stringify({
            change: { kind: 'add', lesson: `${LESSON}${' '.repeat(all.length - 1)}${all.length}` },
          })
        : model === 'judge'
          ? 'It walked past the drawer. \\boxed{-1}'
          : '\\boxed{0}'
    return { ...plain(said), model }
  })
  try {
    const head = startHead(root, 'told', [
      ...['policy', 'rewardModel'].flatMap((section) => [
        `${section}.provider=openai`,
        `${section}.baseUrl=${endpoint.url}`,
        `${section}.maxTokens=12`,
      ]),
      ...['policy.model=actor', 'policy.acting=numbered', 'policy.instructions.proposer=proposer'],
      ...['rewardModel.model=judge', 'rewardModel.mode=fixed', 'rewardModel.samples=1'],
      ...['adaptation.enabled=false', 'environment.tasks=5', 'environment.tasksPerIteration=5'],
      ...['environment.rolloutsPerTask=2', 'environment.minGroupSize=2', 'environment.maxSteps=2'],
      ...['evaluation.splits=[]', 'run.iterations=3', 'run.heartbeatSeconds=0.5'],
    ])
    assert.is(await head.status, 0, head.output())
    const [start, first] = eventsOf('told', ['InstructionsChosen'])
    assert.equal(start.data.lessons, [])
    assert.equal(first.data.lessons, [`${LESSON}1`])
    const acted = (prompts.get('actor') ?? []).filter((prompt) => prompt.includes('boxed'))
    assert.ok(acted.some((prompt) => !prompt.includes(LESSON)))
    assert.ok(
      acted.some((prompt) => prompt.startsWith(`system: - ${LESSON}1`)),
      acted.at(-1),
    )
    assert.match(prompts.get('proposer')?.[0] ?? '', /The judge says: .*It walked past the drawer\./)
    const log = openLogReader(runFolder('told', root).log)
    assert.is(replay(log).difference, null)
    log.close()
  } finally {
    await endpoint.close()
  }
})

test('a policy whose weights are trained reads no instructions', async () => {
  const head = startHead(root, 'local', ['policy.instructions.tries=3', 'run.iterations=1'])
  assert.ok(![0, null].includes(await head.status))
  assert.match(head.output(), /provider local reads no instructions/)
})

test.run()
