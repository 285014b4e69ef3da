/** Texts of files: UTF-8 is read, all else is refused with file, line and encoding, wherever a file comes from. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { loadProblems } from '../packages/environment-coding/src/dataset.ts'
import { METRICS } from '../packages/environment-desktop/src/osworld/metrics/index.ts'
import { readPrompt } from '../src/actors/learner/prompts.ts'
import { loadConfig } from '../src/config.ts'
import { openDataset } from '../src/environments/alfworld/dataset.ts'
import { explain } from '../src/errors.ts'
import { readModelFolder } from '../src/models/local/model-folder.ts'
import { textOf } from '../src/text-file.ts'
import { loadUserModule } from '../src/user-module.ts'
import { temporaryFolder } from './support/run.ts'

const latin1 = (text: string) => Buffer.from(text, 'latin1')
const folder = temporaryFolder()

function file(name: string, bytes: Uint8Array): string {
  writeFileSync(join(folder, name), bytes)
  return join(folder, name)
}

async function refusal(read: () => unknown): Promise<string> {
  try {
    await read()
  } catch (error) {
    return explain(error)
  }
  return 'read without an error'
}

test('every text in UTF-8 comes out as it is, with a byte order mark too', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.boolean(), (text, marked) => {
      fc.pre(!text.includes('\0') && !text.startsWith('\ufeff') && text.isWellFormed())
      assert.is(textOf(Buffer.from(marked ? `\ufeff${text}` : text), 'a'), text)
    }),
  )
})

test('bytes are refused exactly if a strict decoder refuses them', () => {
  const strict = new TextDecoder('utf-8', { fatal: true })
  const byte = fc.constantFrom(0x0a, 0x41, 0x80, 0xc3, 0xa9, 0xe2, 0x82, 0xac, 0xf0, 0x9f, 0xff)
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 12 }), fc.array(byte, { maxLength: 8 }), (any, likely) => {
      const bytes = Uint8Array.from([0x61, ...likely, ...any])
      fc.pre(!bytes.includes(0))
      let fine = true
      try {
        strict.decode(bytes)
      } catch {
        fine = false
      }
      let read = true
      try {
        textOf(bytes, 'a')
      } catch (error) {
        read = false
        const lines = bytes.join(' ').split(/\b10\b/)
        const line = Number(/^a:(\d+): byte \d+ of the line/.exec(explain(error))?.[1])
        assert.ok(line >= 1 && line <= lines.length, explain(error))
      }
      assert.is(read, fine)
    }),
  )
})

test('the line, the byte and the likely encoding are named', () => {
  const told = (bytes: Uint8Array, line?: number) => {
    try {
      return textOf(bytes, 'notes.txt', line)
    } catch (error) {
      return explain(error)
    }
  }
  assert.match(told(latin1('one\ntwo\nna\xefve\n')), /^notes\.txt:3: byte 3 of the line \(0xEF\).*Latin-1/)
  assert.match(told(latin1('\xc4\xe3\xba\xc3'), 7), /^notes\.txt:7: byte 1 .*GBK.*iconv/)
  assert.match(told(Buffer.from('\ufeffhello', 'utf16le')), /^notes\.txt:1: this is UTF-16LE/)
  assert.match(told(Buffer.from('hello', 'utf16le').swap16()), /^notes\.txt:1: this is UTF-16BE/)
  assert.match(told(Buffer.from('hello', 'utf16le')), /^notes\.txt:1: this is UTF-16LE/)
})

test('configs, prompts, problems, games, model folders and modules: each is refused by name and line', async () => {
  const config = file('config.yaml', latin1('run:\n  seed: 3 # gro\xdf\n'))
  assert.match(await refusal(() => loadConfig({ file: config })), `${config}:2: byte`)
  const wide = file('wide.yaml', Buffer.from('\ufeffrun:\n  seed: 3\n', 'utf16le'))
  assert.match(await refusal(() => loadConfig({ file: wide })), `${wide}:1: this is UTF-16LE`)
  const prompt = file('judge.md', latin1('for people\n# User\nSch\xf6n {{goal}}\n'))
  assert.match(await refusal(() => readPrompt(prompt)), `${prompt}:3: byte`)
  const lines = Buffer.concat([Buffer.from('{"id": 1}\n'), latin1('{"id": "\xfc"}\n')])
  for (const path of [file('p.jsonl', lines), file('p.jsonl.gz', gzipSync(lines))])
    assert.match(await refusal(() => loadProblems([path])), `${path}:2: byte`)
  const array = file('p.json', latin1('[\n{"id": "\xfc"}]'))
  assert.match(await refusal(() => loadProblems([array])), `${array}:2: byte`)
  const game = file('game.tw-pddl', latin1('{"grammar": "\xe9"}'))
  const [{ read }] = (await openDataset(game)).games
  assert.match(await refusal(read), `${game}:1: byte`)
  mkdirSync(join(folder, 'model'))
  file('model/config.json', latin1('{"note": "\xe9"}'))
  assert.match(await refusal(() => readModelFolder(join(folder, 'model'))), /config\.json:1: byte/)
  const module = file('mine.mjs', latin1("export const word = 'caf\xe9'\n"))
  assert.match(await refusal(() => loadUserModule(module, 'environment.module')), `${module}:1: byte`)
})

test('files of a desktop that cannot be decoded equal nothing, not even themselves', () => {
  for (const metric of ['compare_text_file', 'compare_csv']) {
    assert.is(METRICS[metric](latin1('a,\xfc'), latin1('a,\xf6'), {}), 0)
    assert.is(METRICS[metric](latin1('a,\xfc'), latin1('a,\xfc'), {}), 0)
    assert.is(METRICS[metric](Buffer.from('a,ü'), Buffer.from('a,ü'), {}), 1)
  }
})

/** Files whose text is this project's own or the system's: what is read there was written by the same code. */
const OWN = [
  /^ablation\/results/,
  /^actors\/(executing\/kept|head\/(fence|head-core|own-runs)|learner\/kept-model)/,
  /^broker\//,
  /^cli\/(init|join)/,
  /^environments\/alfworld\/(download|generator\/tables)/,
  /^environment-coding\/src\/(packed-json|result-cache|tries)/,
  /^environment-coding\/src\/providers\/(bwrap|bwrap-sandbox|pyodide)\./,
  /^environment-web\/src\/(environment|miniwob\/site|own\/site)/,
  /^events\/log-mark/,
  /^models\/(hub-folder|local\/file-digests)/,
  /^package\.ts/,
  /^platform\//,
  /^replay\/expectation/,
]

function modulesIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (path) => path.endsWith('.ts') && !path.includes('node_modules'),
  )
}

test('files of others are read by text-file.ts alone', () => {
  const loose =
    /(?:readFile|readFileSync)\([^\n]*'utf-?8'\)|readFileSync\([^\n]*\)\.toString\(|await readFile\([^\n]*\)\)\.toString\(/
  const sources = [
    ...modulesIn('src').map((path) => ['src', path]),
    ...modulesIn('packages')
      .filter((path) => /^[^/]+\/src\//.test(path))
      .map((path) => ['packages', path]),
  ]
  const wrong = sources.filter(
    ([folder, path]) =>
      !OWN.some((own) => own.test(path)) && loose.test(readFileSync(join(folder, path), 'utf8')),
  )
  assert.ok(sources.some(([folder]) => folder === 'packages'))
  assert.equal(wrong, [])
})

test.run()
