/** The first setting of docs/environments.md, as it stands there: its file keeps to the contract, and its config loads. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { openConfig } from '../../src/config.ts'
import { testEnvironment } from '../../src/testing/index.ts'
import { temporaryFolder } from '../support/run.ts'

const page = readFileSync('docs/environments.md', 'utf8')
const code = /```ts\n(import \{ defineSetting[\s\S]*?)```/.exec(page)?.[1] ?? ''
const yaml = /```yaml\n([\s\S]*?)```/.exec(page)?.[1] ?? ''

test('the first setting that the page shows can be played, by the config that it shows', async () => {
  const root = temporaryFolder()
  const entry = pathToFileURL('src/environments/index.ts').href
  writeFileSync(join(root, 'environment.ts'), code.replace("'rlanything/environments'", `'${entry}'`))
  writeFileSync(join(root, 'config.yaml'), yaml)
  const { environment } = await openConfig({ file: join(root, 'config.yaml') })
  assert.is(environment.name, 'guess')
  const { setting } = await import(pathToFileURL(join(root, 'environment.ts')).href)
  const { episodes } = await testEnvironment(setting, { splits: ['train', 'in-domain'], maxSteps: 4 })
  assert.ok(episodes > 0)
})

test.run()
