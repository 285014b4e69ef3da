import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { parse } from 'yaml'
import { asyncApiDoc } from '../../scripts/docs/asyncapi.ts'
import { eventsDoc } from '../../scripts/docs/events.ts'
import { environmentOf } from '../../src/broker/connection.ts'
import { CATALOGUE } from '../../src/events/catalogue.ts'
import { startTestHead, until } from '../support/run.ts'
import { runStarted } from '../support/toy.ts'

for (const { path, text } of [eventsDoc(), asyncApiDoc()])
  test(`${path} is current; if not: npm run docs`, () => {
    assert.is(readFileSync(path, 'utf8'), text)
  })

test('asyncapi.yaml has a channel, a message and a schema for every type, and every reference leads somewhere', () => {
  const text = asyncApiDoc().text
  const document = parse(text)
  for (const type of Object.keys(CATALOGUE)) {
    assert.is(document.channels[type].address, `rl.v1.{run}.evt.${type}`)
    assert.ok(document.components.messages[type])
    assert.is(document.components.schemas[type].type, 'object')
  }
  for (const [, reference] of text.matchAll(/\$ref: "?'?#\/([\w/.-]+)/g)) {
    let target = document
    for (const part of reference.split('/')) target = target?.[part]
    assert.ok(target, reference)
  }
})

test('the ten-line subscriber of docs/events.md works with a stock NATS client', async () => {
  const program = /```js\n([\s\S]*?)```/.exec(readFileSync('docs/events.md', 'utf8'))?.[1] ?? ''
  assert.ok(program.trim().split('\n').length <= 12)
  const head = await startTestHead()
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...environmentOf(head.addressOf('tool')), RUN: 'test' },
  })
  let output = ''
  child.stdout.on('data', (chunk) => {
    output += chunk
  })
  head.service.append([runStarted])
  await until('the first line', () => {
    head.service.append([{ type: 'RunPaused', data: { reason: 'until somebody listens' } }])
    return output.includes('RunPaused')
  })
  head.service.append([{ type: 'RunCompleted', data: { iterations: 0, metrics: {} } }])
  await once(child, 'close')
  assert.match(output, /^\d+ RunPaused reason$/m)
  assert.match(output, /^\d+ RunCompleted iterations metrics$/m)
  await head.close()
})

test.run()
