import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { RULE_ROWS } from '../../scripts/docs/rule-rows.ts'
import { rulesDoc } from '../../scripts/docs/rules.ts'
import { loadConfig } from '../../src/config.ts'
import { RULE_KINDS, SHELVES } from '../../src/learning/shelves.ts'

test('docs/rules.md is current; if not: npm run docs', () => {
  const { path, text } = rulesDoc()
  assert.is(readFileSync(path, 'utf8'), text)
})

test('every rule of ours has a formula, a source and a preset, and every preset is one line that loads', () => {
  const { text } = rulesDoc()
  for (const kind of RULE_KINDS)
    for (const { name, formula, source } of SHELVES[kind].registry.all(null)) {
      assert.ok(formula && source, name)
      assert.match(text, new RegExp(`^\\| \`${name}\` .*\`[a-z-]+\` \\|$`, 'm'))
    }
  const presets = readdirSync('config/rules')
  assert.ok(presets.length >= 20)
  for (const preset of presets) {
    const file = `config/rules/${preset}`
    assert.is(readFileSync(file, 'utf8').trim().split('\n').length, 1, preset)
    assert.ok(loadConfig({ file }).learning.advantage, preset)
  }
})

test('the table has 64 rows, and what works says by what', () => {
  assert.is(RULE_ROWS.length, 64)
  for (const { state, by, system } of RULE_ROWS) assert.ok(state !== 'works' || by !== '', system)
})

test.run()
