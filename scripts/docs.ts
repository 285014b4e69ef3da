/** npm run docs: writes every document that follows from the code. Tests hold them current. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import '../src/setting-packages.ts'
import { loadInstalled } from '../src/environments/settings.ts'
import { apiDocs } from './docs/api.ts'
import { asyncApiDoc } from './docs/asyncapi.ts'
import { configDoc } from './docs/config.ts'
import { errorsDoc } from './docs/errors.ts'
import { eventsDoc } from './docs/events.ts'
import { exportDoc } from './docs/export.ts'
import type { GeneratedDoc } from './docs/generated.ts'
import { machineDocs } from './docs/machines.ts'
import { rulesDoc } from './docs/rules.ts'

await loadInstalled()
const docs: readonly GeneratedDoc[] = [
  ...machineDocs(),
  configDoc(),
  eventsDoc(),
  asyncApiDoc(),
  errorsDoc(),
  exportDoc(),
  rulesDoc(),
  ...apiDocs(),
]

for (const { path, text } of docs) {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
  process.stdout.write(`${path}\n`)
}
