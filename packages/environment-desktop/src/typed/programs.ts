/** Programs that take typed text, and where what they have taken is found. */
import type { Rng } from 'rlanything/environments'
import { writeDocument } from '../osworld/document.ts'
import type { Found } from '../osworld/getters.ts'
import { readOr } from '../osworld/read-or.ts'
import { readWorkbook, writeWorkbook } from '../osworld/spreadsheet.ts'
import type { SetupStep, Source } from '../osworld/task-file.ts'
import { bytes, DESKTOP, file, open, printed, started } from '../tasks/task.ts'
import { anyText, calculation, fileName, type Line, plainText } from './lines.ts'

/** What types into a program, by an agent's commands, and reads by the sources of tasks. */
export type Typist = {
  readonly act: (...commands: readonly string[]) => Promise<void>
  /** Reads until `wanted` is found, for some seconds. Resolves to what was read last. */
  readonly read: (source: Source, wanted: string, asText?: (found: Found) => string) => Promise<string>
}

export type TypedProgram = {
  readonly name: string
  /** Its file on this machine. */
  readonly program: string
  readonly config: readonly SetupStep[]
  readonly draw: (random: Rng) => Line
  /** Types all lines. Resolves to what the program has then, one text a line. */
  readonly type: (typist: Typist, lines: readonly Line[]) => Promise<readonly string[]>
}

const whole = (lines: readonly Line[]) => lines.map(({ wanted }) => `${wanted}\n`).join('')

/** Types line after line, and then saves. The content is read once. */
const wholeText =
  (saved: string, source: Source, asText?: (found: Found) => string): TypedProgram['type'] =>
  async ({ act, read }, lines) => {
    for (const { typed } of lines) await act(`type ${typed}\n`)
    await act(`press ${saved}`)
    return (await read(source, whole(lines), asText)).split('\n')
  }

/** Types a line, and reads what it has made before the next one. */
const oneByOne =
  (commands: (typed: string) => readonly string[], source: Source): TypedProgram['type'] =>
  async ({ act, read }, lines) => {
    const found: string[] = []
    for (const { typed, wanted } of lines) {
      await act(...commands(typed))
      found.push(await read(source, wanted))
    }
    return found
  }

const [NOTE, BOOK, LETTER, PAGE] = ['typed.txt', 'typed.xlsx', 'typed.docx', 'typed.html']

/** The values of the first column, which is as long as the sheet. */
function firstColumn(found: Found): string {
  const [sheet] = (found instanceof Uint8Array ? readOr(found, readWorkbook) : null) ?? []
  return sheet ? [...sheet.values].map(([, value]) => `${value}\n`).join('') : ''
}

export const TYPED_PROGRAMS: readonly TypedProgram[] = [
  {
    name: 'mousepad',
    program: 'mousepad',
    config: [file(NOTE, ''), open(NOTE)],
    draw: anyText,
    type: wholeText('ctrl+s', printed(`cat ${NOTE}`)),
  },
  {
    name: 'xterm',
    program: 'xterm',
    config: [...started('xterm', `xterm -e sh -c 'cat >${NOTE}'`)],
    draw: anyText,
    type: wholeText('ctrl+d', printed(`cat ${NOTE}`)),
  },
  {
    name: 'pcmanfm',
    program: 'pcmanfm',
    config: [file(NOTE, ''), ...started('pcmanfm', `pcmanfm ${DESKTOP}`)],
    draw: fileName,
    type: oneByOne(
      (typed) => ['press ctrl+a', 'press f2', 'press ctrl+a', `type ${typed}\n`],
      printed('printf %s "$(ls)"'),
    ),
  },
  {
    name: 'galculator',
    program: 'galculator',
    config: [...started('galculator', 'galculator')],
    draw: calculation,
    type: oneByOne((typed) => [`type ${typed}\n`], { type: 'element_text', role: 'text' }),
  },
  {
    name: 'calc',
    program: 'soffice',
    config: [bytes(BOOK, writeWorkbook([])), open(BOOK)],
    draw: plainText,
    type: wholeText('ctrl+s', { type: 'vm_file', path: `${DESKTOP}/${BOOK}`, dest: BOOK }, firstColumn),
  },
  {
    name: 'writer',
    program: 'soffice',
    config: [bytes(LETTER, writeDocument([''])), open(LETTER)],
    draw: plainText,
    type: wholeText('ctrl+s', { type: 'document_text', path: `${DESKTOP}/${LETTER}` }),
  },
  {
    name: 'chromium',
    program: 'chromium',
    config: [
      file(
        PAGE,
        '<!doctype html><meta charset=utf-8><title>Typed</title><textarea autofocus cols=90 rows=30></textarea>',
      ),
      ...started('Typed', `chromium --app=file://${DESKTOP}/${PAGE}`, { byTitle: true }),
    ],
    draw: anyText,
    type: wholeText('end', { type: 'element_text', role: 'entry' }),
  },
]
