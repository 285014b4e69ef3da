/** The agents of examples/agents: few lines make an agent trainable, and the README shows all of them. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { AGENT_FILES, AGENTS, changeOf, linesChanged } from '../../scripts/example/lines-changed.ts'
import { readAgentTasks } from '../../src/agents/tasks.ts'

const README = readFileSync(join(AGENTS, 'README.md'), 'utf8')

test('every folder is one of the agents', () => {
  const folders = readdirSync(AGENTS).filter((name) => statSync(join(AGENTS, name)).isDirectory())
  assert.equal(folders.filter((name) => name !== 'node_modules').sort(), Object.keys(AGENT_FILES).sort())
})

for (const name of Object.keys(AGENT_FILES))
  test(`${name} changes at most five lines, and the README shows them`, () => {
    const change = changeOf(name)
    assert.ok(linesChanged(change) > 0 && linesChanged(change) <= 5, String(linesChanged(change)))
    const lines = [...change.removed.map((line) => `-${line}`), ...change.added.map((line) => `+${line}`)]
    assert.ok(README.includes(`\`\`\`diff\n${lines.join('\n')}\n\`\`\``), lines.join('\n'))
  })

test('there are 60 tasks, and two fruits are held out', () => {
  const { train, heldOut } = readAgentTasks(join(AGENTS, 'tasks.jsonl'), 1)
  assert.equal([train.length, heldOut.length], [48, 12])
  const fruits = new Set(heldOut.map(({ id }) => id.split('-')[1]))
  assert.equal([...fruits].sort(), ['lemon', 'peach'])
  assert.not.ok(train.some(({ id }) => fruits.has(id.split('-')[1])))
})

test.run()
