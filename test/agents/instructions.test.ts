/** `rl train --learn instructions` with a real head, gateway, agents and HTTP: texts learn, and the log tells how. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { runFolder } from '../../src/broker/connection.ts'
import { loggedConfig } from '../../src/config.ts'
import { openLogReader } from '../../src/events/log-reader.ts'
import { attest } from '../../src/replay/attest.ts'
import { forkRun } from '../../src/replay/fork.ts'
import { openInstructionCheck } from '../../src/replay/instructions-check.ts'
import { replay } from '../../src/replay/replay.ts'
import { treeLines } from '../../src/replay/tree.ts'
import { whyVersion } from '../../src/replay/why.ts'
import { plain } from '../support/against-endpoint.ts'
import { askingAgent } from '../support/agent-files.ts'
import { eventsBelow } from '../support/logged.ts'
import { startProcess } from '../support/processes.ts'
import { temporaryFolder, until } from '../support/run.ts'
import { startScriptedEndpoint } from '../support/scripted-endpoint.ts'

const root = temporaryFolder()
const eventsOf = eventsBelow(root)
const KEY = 'key-that-nobody-may-read'
const HELPS = 'Count to seven first.'
const OWN = 'You are an agent.'

/** The third proposal helps. The others are nonsense, useless, or one of these again. */
const PROPOSALS = [
  'certainly!',
  '{"change": {"kind": "add", "lesson": "Be polite."}}',
  `{"change": {"kind": "add", "lesson": "${HELPS}"}}`,
  '{"change": {"kind": "add", "lesson": "Be polite."}}',
]

function file(name: string, text: string): string {
  writeFileSync(join(root, name), text)
  return join(root, name)
}

const AGENT = file(
  'agent.ts',
  askingAgent({
    body: `messages: [{ role: 'system', content: '${OWN}' }, { role: 'user', content: task.question }]`,
  }),
)
const GRADE = file('grade.ts', `export const grade = (_: unknown, result: string) => result === 'seven'`)
const TASKS = file(
  'tasks.jsonl',
  Array.from({ length: 15 }, (_, i) =>
    JSON.stringify({ id: `t${i}`, question: `What comes after six? (${i})` }),
  ).join('\n'),
)

type Message = { readonly role: string; readonly content: string }

function startModel() {
  let proposals = 0
  const systems = new Set<string>()
  const endpoint = startScriptedEndpoint(({ body, authorization }) => {
    assert.is(authorization, `Bearer ${KEY}`)
    const messages = body.messages as readonly Message[]
    const named = (content: string) => ({ ...plain(content), model: body.model })
    if (body.model === 'proposer') return named(PROPOSALS[proposals++ % PROPOSALS.length])
    const system = messages.filter(({ role }) => role === 'system').map(({ content }) => content)
    // The first call of all only tries the endpoint out.
    if (system.length > 0) systems.add(system.join(' + '))
    return named(system.join().includes(HELPS) ? 'seven' : 'eight')
  })
  return { endpoint, systems }
}

function start(run: string, url: string, words: readonly string[] = []) {
  return startProcess(
    [
      ...['src/rl.ts', 'train', AGENT, '--tasks', TASKS, '--grade', GRADE, '--model', 'agent'],
      ...['--base-url', url, '--learn', 'instructions', '--proposer', 'proposer', '--budget-calls', '600'],
      ...['--concurrency', '4', '--run', run, ...words],
    ],
    { RL_RUNS: root, OPENAI_API_KEY: KEY },
  )
}

test('the lesson that helps is found, pauses and forks change nothing, and the log says why', async () => {
  const { endpoint: starting, systems } = startModel()
  const endpoint = await starting
  try {
    const first = start('mine', endpoint.url)
    await until('two versions', () => eventsOf('mine', ['PolicyUpdated']).length > 2, 240_000).catch(
      (error) => {
        throw new Error(`${error.message}\n${first.output()}`)
      },
    )
    first.process.kill('SIGINT')
    assert.is(await first.status, 130, first.output())
    const second = start('mine', endpoint.url)
    assert.is(await second.status, 0, second.output())
    assert.match(second.output(), /^better: held-out 0\.00 -> 1\.00/m)
    assert.match(second.output(), new RegExp(`what the model is told before each call:\\s+- ${HELPS}`))
    assert.ok(endpoint.asked.length <= 600, `${endpoint.asked.length} calls`)

    const chosen = eventsOf('mine', ['InstructionsChosen'])
    assert.equal(chosen.at(-1)?.data.lessons, [HELPS])
    assert.is(chosen.at(-1)?.data.ended, 'the proposer has nothing new')
    assert.equal(
      eventsOf('mine', ['InstructionsWeighed']).map(({ data }) => data.verdict),
      [
        'rejected',
        'accepted',
        ...new Array(Math.max(0, eventsOf('mine', ['InstructionsWeighed']).length - 2)).fill('rejected'),
      ],
    )
    const problems = eventsOf('mine', ['InstructionsProposed']).map(({ data }) => data.problem)
    assert.is(problems[0], 'the answer holds no JSON object')
    assert.ok(problems.some((problem) => problem?.startsWith('it was tried before')))
    assert.ok(systems.has(OWN) && systems.has(`- ${HELPS}\n\n${OWN}`), [...systems].join('\n'))
    assert.not.match(readFileSync(runFolder('mine', root).log, 'latin1'), new RegExp(KEY))

    const log = openLogReader(runFolder('mine', root).log)
    assert.is(replay(log).difference, null)
    const last = chosen.at(-1)!.data
    assert.ok(
      attest(log).models.some(({ version, sha256 }) => version === last.version && sha256 === last.sha256),
    )
    const accepted = eventsOf('mine', ['InstructionsWeighed']).find(
      ({ data }) => data.verdict === 'accepted',
    )!
    const why = treeLines(whyVersion(log, 'policy', accepted.data.version)).join('\n')
    assert.match(why, /proposal \d+ accepted: better than its parent/)
    assert.match(why, /difference: 1\.000 \[1\.000, 1\.000\] over 12 tasks/)

    const changed = openInstructionCheck()
    const config = loggedConfig(eventsOf('mine', ['RunStarted'])[0].data.config)
    for (const event of log.events())
      changed.see(
        event.id === accepted.id ? { ...accepted, data: { ...accepted.data, verdict: 'rejected' } } : event,
        config,
      )
    assert.match(changed.wrong(accepted.data.version) ?? '', /rejected, where the outcomes give accepted/)
    log.close()

    const at = eventsOf('mine').find(
      ({ type, data }) => type === 'IterationCompleted' && data.iteration === 2,
    )!
    forkRun(runFolder('mine', root), runFolder('other', root), { at: at.position, set: [] })
    const fork = start('other', endpoint.url)
    assert.is(await fork.status, 0, fork.output())
    const forked = openLogReader(runFolder('other', root).log)
    assert.is(replay(forked).difference, null)
    forked.close()
    const texts = (run: string) => eventsOf(run, ['InstructionsChosen']).map(({ data }) => data.lessons)
    assert.equal(texts('other').slice(0, 3), texts('mine').slice(0, 3))
    assert.equal(texts('other').at(-1), [HELPS])
  } finally {
    await endpoint.close()
  }
})

test('words that make no sense together are refused before anything starts', async () => {
  const said = async (words: readonly string[]) => {
    const { status, output } = startProcess(
      [
        'src/rl.ts',
        'train',
        AGENT,
        '--tasks',
        TASKS,
        '--grade',
        GRADE,
        '--model',
        'm',
        '--run',
        'no',
        ...words,
      ],
      { RL_RUNS: root },
    )
    assert.is(await status, 2, output())
    return output()
  }
  assert.match(await said(['--learn', 'instructions']), /--base-url/)
  assert.match(await said(['--base-url', 'http://127.0.0.1:1/v1']), /use --learn instructions/)
  const few = ['--learn', 'instructions', '--base-url', 'http://127.0.0.1:1/v1', '--budget-calls', '20']
  assert.match(await said(few), /--budget-calls 20 are too few for 12 tasks/)
})

test.run()
