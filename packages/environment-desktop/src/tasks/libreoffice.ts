/** Tasks in LibreOffice: workbooks in Calc and documents in Writer, changed and saved. */

import type { Rng } from 'rlanything/environments'
import { itemAt } from 'rlanything/kit'
import { writeDocument } from '../osworld/document.ts'
import { writeWorkbook } from '../osworld/spreadsheet.ts'
import { bytes, DESKTOP, type Draft, open, type TaskKind } from './task.ts'
import { lines, words } from './words.ts'

/** Writer begins a paragraph that is typed with a capital by itself. */
const sentence = (line: string) => line.charAt(0).toUpperCase() + line.slice(1)

const programs = ['soffice']
const SAVED = ['press ctrl+s', 'wait', 'done']
const [BOOK, TEXT] = ['book.xlsx', 'letter.docx']

const cell = (coordinate: string, value: string | number) => ({
  metric: 'compare_table',
  result: { type: 'vm_file', path: `${DESKTOP}/${BOOK}`, dest: BOOK },
  options: {
    rules: [{ type: 'check_cell', sheet_idx: 0, coordinate, props: { value: { method: 'eq', ref: value } } }],
  },
})

const calc = (
  name: string,
  make: (random: Rng, names: readonly string[], numbers: readonly number[]) => Omit<Draft, 'config'>,
): TaskKind => ({
  kind: `calc-${name}`,
  programs,
  make(random) {
    const names = words(random, 4)
    const rows = names.map((word) => [word, 10 + random.below(90)] as const)
    const numbers = rows.map(([, number]) => number)
    return { config: [bytes(BOOK, writeWorkbook(rows)), open(BOOK)], ...make(random, names, numbers) }
  },
})

const writer = (
  name: string,
  make: (
    random: Rng,
    before: readonly string[],
  ) => Omit<Draft, 'config' | 'check'> & { readonly end: string },
): TaskKind => ({
  kind: `writer-${name}`,
  programs,
  make(random) {
    const before = lines(random, 2)
    const { end, ...draft } = make(random, before)
    return {
      config: [bytes(TEXT, writeDocument(before)), open(TEXT)],
      check: {
        metric: 'exact_match',
        result: { type: 'document_text', path: `${DESKTOP}/${TEXT}` },
        rules: { expected: end },
      },
      ...draft,
    }
  },
})

const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0)

export const LIBREOFFICE: readonly TaskKind[] = [
  calc('value', (random, _, numbers) => {
    const value = 100 + random.below(900)
    return {
      goal: `In the workbook, write '${value}' into cell D3 and save it.`,
      check: cell('D3', value),
      texts: [String(numbers[0])],
      oracle: ['click "D3"', `type ${value}`, 'press enter', ...SAVED],
      wrong: ['click "D3"', `type ${numbers[0]}`, 'press enter', ...SAVED],
    }
  }),
  calc('sum', (_, __, numbers) => ({
    goal: 'In the workbook, put the sum of the numbers in column B into cell B5 and save it.',
    check: cell('B5', sum(numbers)),
    texts: ['=SUM(B1:B4)', '=SUM(B1:B3)'],
    oracle: ['click "B5"', 'type =SUM(B1:B4)', 'press enter', ...SAVED],
    wrong: ['click "B5"', 'type =SUM(B1:B3)', 'press enter', ...SAVED],
  })),
  calc('largest', (_, __, numbers) => ({
    goal: 'In the workbook, put the largest number of column B into cell C1 and save it.',
    check: cell('C1', Math.max(...numbers)),
    texts: ['=MAX(B1:B4)', '=SUM(B1:B4)'],
    oracle: ['click "C1"', 'type =MAX(B1:B4)', 'press enter', ...SAVED],
    wrong: ['click "C1"', 'type =SUM(B1:B4)', 'press enter', ...SAVED],
  })),
  calc('copy', (_, names) => ({
    goal: 'In the workbook, copy cell A2 to cell D4 and save it.',
    check: cell('D4', itemAt(names, 1)),
    oracle: ['click "A2"', 'press ctrl+c', 'click "D4"', 'press ctrl+v', 'press escape', ...SAVED],
    wrong: ['click "A3"', 'press ctrl+c', 'click "D4"', 'press ctrl+v', 'press escape', ...SAVED],
  })),
  writer('append', (random, before) => {
    const [first, second] = lines(random, 2)
    const [line, other] = [sentence(first), sentence(second)]
    return {
      goal: `In the document, add the paragraph '${line}' at the end and save it.`,
      end: [...before, line].join('\n'),
      texts: [other],
      oracle: ['press ctrl+end', 'press enter', `type ${line}`, ...SAVED],
      wrong: ['press ctrl+end', 'press enter', `type ${other}`, ...SAVED],
    }
  }),
  writer('prepend', (random, before) => {
    const [first] = lines(random, 1)
    const line = sentence(first)
    return {
      goal: `In the document, put the paragraph '${line}' before the others and save it.`,
      end: [line, ...before].join('\n'),
      oracle: ['press ctrl+home', `type ${line}`, 'press enter', ...SAVED],
      wrong: ['press ctrl+end', `type ${line}`, 'press enter', ...SAVED],
    }
  }),
  writer('overwrite', (random) => {
    const [first] = lines(random, 1)
    const line = sentence(first)
    return {
      goal: `Make the document hold nothing but '${line}' and save it.`,
      end: line,
      oracle: ['press ctrl+a', `type ${line}`, ...SAVED],
      wrong: [`type ${line}`, ...SAVED],
    }
  }),
]
