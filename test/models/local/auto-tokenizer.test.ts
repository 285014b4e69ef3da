/** Exports under AutoTokenizer of transformers: SKIP where BENCH_PYTHON (else python3) has no such package. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { openLocalModel } from '../../../src/models/local/model.ts'
import { presetConfig } from '../../../src/models/local/presets.ts'
import { createTokenizer } from '../../../src/models/local/tokenizer.ts'
import { trainWordTokenizer } from '../../../src/models/local/word-tokenizer.ts'

const python = process.env.BENCH_PYTHON || 'python3'
const root = mkdtempSync(join(tmpdir(), 'auto-tokenizer-'))
test.after(() => rmSync(root, { recursive: true }))

const TEXTS = [
  'go to the cabinet 12',
  "don't stop! x=-5",
  'zyx (a)',
  '<|im_start|>user\nlook<|im_end|>',
  'a/b_c - 7',
]
const SCRIPT = `
import json, sys
from transformers import AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
print(json.dumps([tokenizer(text, add_special_tokens=False)["input_ids"] for text in json.loads(sys.argv[2])]))
`

for (const preset of ['tiny', 'nano'] as const)
  test(`${preset}: AutoTokenizer gives the ids of the export's own tokenizer`, async () => {
    if (spawnSync(python, ['-c', 'import transformers']).status !== 0) {
      process.stdout.write(`SKIP: ${python} has no transformers\n`)
      return
    }
    const tokenizer = trainWordTokenizer({ words: ['go to the cabinet', 'open fridge', 'look around'] })
    const { size, endToken, encode } = createTokenizer(tokenizer)
    const config = presetConfig(preset, { vocabSize: size, contextTokens: 64, endToken })
    const model = await openLocalModel({ config, tokenizer, seed: 1, backend: 'wasm' })
    const folder = join(root, preset)
    await model.save(folder)
    await model.close()
    const { stdout, stderr } = spawnSync(python, ['-c', SCRIPT, folder, JSON.stringify(TEXTS)], {
      encoding: 'utf8',
    })
    assert.equal(
      JSON.parse(stdout || 'null'),
      TEXTS.map((text) => [...encode(text)]),
      stderr.slice(-500),
    )
  })

test.run()
