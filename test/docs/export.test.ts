import { readFileSync } from 'node:fs'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { exportDoc } from '../../scripts/docs/export.ts'
import { EXPORTERS } from '../../src/replay/exporters.ts'
import { COLUMNS } from '../../src/replay/trajectory-row.ts'

test('docs/export.md is current; if not: npm run docs', () => {
  const { path, text } = exportDoc()
  assert.is(readFileSync(path, 'utf8'), text)
})

test('the page has a line for every column, in their order, and no other, and one for every format', () => {
  const [formats = '', columns = ''] = readFileSync('docs/export.md', 'utf8').split(
    '## Columns of trajectories',
  )
  const names = (part: string) => [...part.matchAll(/^\| `([\w-]+)` \| \S.* \|$/gm)].map(([, name]) => name)
  assert.equal(names(columns), Object.keys(COLUMNS))
  assert.equal(
    names(formats),
    EXPORTERS.map(({ name }) => name),
  )
  for (const line of columns.matchAll(/^\| `.*$/gm)) assert.is(line[0].split(' | ').length, 3, line[0])
})

test.run()
