/** Every getter by what a desktop with known files and windows answers it. */

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { RlError } from 'rlanything/kit'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { temporaryFolder, until } from '../../../test/support/run.ts'
import type { Computer } from '../src/computer.ts'
import { openDesktop } from '../src/local/desktop.ts'
import { writeDocument } from '../src/osworld/document.ts'
import { type Found, GETTERS, get } from '../src/osworld/getters.ts'
import type { SetupContext } from '../src/osworld/setup.ts'
import { writeWorkbook } from '../src/osworld/spreadsheet.ts'
import { canRun } from './support.ts'

const HOME = '/home/user/Desktop'
const FILES: Readonly<Record<string, Uint8Array>> = {
  'note.txt': Buffer.from('one\ntwo\n'),
  'sums.xlsx': writeWorkbook([
    ['a', 1],
    ['b', 2],
  ]),
  'letter.docx': writeDocument(['Dear all', 'Bye']),
}
const TASK = 'task-1'

type Case = readonly [source: Readonly<Record<string, unknown>>, found: Found | ((found: Found) => boolean)]

/** In order: what is fetched is in the cache afterwards. */
const CASES: Readonly<Record<string, readonly Case[]>> = {
  rule: [
    [{ rules: { expected: 'x' } }, { expected: 'x' }],
    [{}, null],
  ],
  vm_file: [
    [{ path: `${HOME}/note.txt`, dest: 'note.txt' }, FILES['note.txt']],
    [{ path: [`${HOME}/sums.xlsx`, 'other'], dest: ['sums.xlsx', 'other'] }, FILES['sums.xlsx']],
    [{ path: `${HOME}/absent`, dest: 'absent' }, null],
  ],
  cloud_file: [[{ path: 'https://example.org/gold/right.txt', dest: 'right.txt' }, Buffer.from('right')]],
  cache_file: [
    [{ path: 'note.txt' }, FILES['note.txt']],
    [{ path: 'right.txt' }, Buffer.from('right')],
    [{ path: 'absent' }, null],
  ],
  vm_command_line: [
    [{ command: ['cat', `${HOME}/note.txt`] }, 'one\ntwo\n'],
    [{ command: `wc -l < ${HOME}/note.txt`, shell: true }, '2\n'],
    [{ command: 'false' }, ''],
  ],
  vm_command_error: [[{ command: 'echo lost >&2', shell: true }, 'lost\n']],
  list_directory: [
    [
      { path: HOME },
      (found) => {
        const { children } = found as { readonly children: readonly { readonly name: string }[] }
        return Object.keys(FILES).every((name) => children.some((child) => child.name === name))
      },
    ],
  ],
  vm_screen_size: [[{}, { width: 1280, height: 800 }]],
  accessibility_tree: [[{}, (found) => String(found).includes('note.txt')]],
  content_from_vm_file: [
    [{ path: `${HOME}/sums.xlsx`, file_type: 'xlsx', file_content: 'last_row' }, ['b', '2']],
    [{ path: `${HOME}/absent`, file_type: 'xlsx', file_content: 'last_row' }, null],
    [{ path: `${HOME}/note.txt`, file_type: 'xlsx', file_content: 'last_row' }, null],
  ],
  document_text: [
    [{ path: `${HOME}/letter.docx` }, 'Dear all\nBye'],
    [{ path: `${HOME}/absent` }, null],
    [{ path: `${HOME}/note.txt` }, null],
  ],
  element_text: [
    [{ role: 'text' }, 'one\ntwo\n'],
    [{ role: 'slider' }, null],
  ],
}

test('every getter has cases', () => assert.equal(Object.keys(CASES).sort(), Object.keys(GETTERS).sort()))

if (canRun('getters', 'mousepad'))
  test('what each getter finds on a desktop', async () => {
    const folder = temporaryFolder()
    mkdirSync(join(folder, 'files', TASK), { recursive: true })
    writeFileSync(join(folder, 'files', TASK, 'right.txt'), 'right')
    const computer: Computer = await openDesktop()
    const context: SetupContext = { computer, task: TASK, folder, cache: new Map() }
    try {
      for (const [name, bytes] of Object.entries(FILES)) await computer.writeFile(`${HOME}/${name}`, bytes)
      await computer.openFile(`${HOME}/note.txt`)
      const shown = { type: 'element_text', role: 'text' }
      await until('the editor shows the file', async () => (await get(context, shown)) === 'one\ntwo\n')
      for (const [type, cases] of Object.entries(CASES))
        for (const [source, wanted] of cases) {
          const found = await get(context, { ...source, type })
          const what = `${type} of ${JSON.stringify(source)}`
          if (typeof wanted === 'function') assert.ok(wanted(found), what)
          else assert.equal(plain(found), plain(wanted), what)
        }
      await get(context, { type: 'content_from_vm_file', path: `${HOME}/sums.xlsx`, file_type: 'pdf' }).then(
        () => assert.unreachable('a kind of file that is not read'),
        (error) => assert.ok(error instanceof RlError && error.code === 'desktop.task'),
      )
    } finally {
      await computer.close()
    }
  })

if (canRun('what agents leave'))
  test('what an agent left so that nothing can be read of it is nothing, and no fault', async () => {
    const desktop = await openDesktop()
    // A judge's program has two minutes else.
    const computer: Computer = {
      ...desktop,
      execute: (command, options) => desktop.execute(command, { ...options, timeoutMs: 500 }),
    }
    const context: SetupContext = { computer, task: TASK, folder: null, cache: new Map() }
    try {
      await desktop.execute('mkfifo ~/total.txt', { shell: true })
      assert.is(await get(context, { type: 'vm_command_line', command: 'cat total.txt' }), null)
      assert.is(await get(context, { type: 'list_directory', path: `${HOME}/gone` }), null)
      assert.is(desktop.fault(), null)
    } finally {
      await desktop.close()
    }
  })

/** Bytes as text, whatever kind of array holds them. */
const plain = (found: Found) => (found instanceof Uint8Array ? Buffer.from(found).toString('base64') : found)

test.run()
