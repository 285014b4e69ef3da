import '../support/packages.ts'
import { readFileSync } from 'node:fs'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { configDoc } from '../../scripts/docs/config.ts'
import { machineDocs } from '../../scripts/docs/machines.ts'

for (const { path, text } of [...machineDocs(), configDoc()])
  test(`${path} is current; if not: npm run docs`, () => {
    assert.is(readFileSync(path, 'utf8'), text)
  })

test.run()
