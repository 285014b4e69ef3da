/** Reads programs and unit tests out of a model's text. */

import type { ParsedTest } from 'rlanything/environments'
import { itemAt } from 'rlanything/kit'
import type { Language } from './provider.ts'

export type ParsedProgram = { readonly program: string } | { readonly reason: string }

/** Name of each language, and the words after the opening fence of its blocks, in lower case. */
const BLOCKS: Readonly<Record<Language, { readonly name: string; readonly fences: readonly string[] }>> = {
  python: { name: 'Python', fences: ['python', 'py', 'python3'] },
  javascript: { name: 'JavaScript', fences: ['javascript', 'js', 'node'] },
  cpp: { name: 'C++', fences: ['cpp', 'c\\+\\+', 'cc'] },
}

/** Ends a question for programs in a language other than Python. Prompts ask for Python. */
export function languageNote(language: Language): string {
  const { name, fences } = BLOCKS[language]
  return language === 'python'
    ? ''
    : `\nWrite the program in ${name}, in one block that begins with \`\`\`${fences[0]}.`
}

/** The program of an answer: its last fenced block of the language (rlanything 5.1). */
export function parseProgram(answer: string, language: Language = 'python'): ParsedProgram {
  const { name, fences } = BLOCKS[language]
  const open = `\`\`\`(?:${fences.join('|')})[ \\t]*\\r?\\n`
  const block = [...answer.matchAll(new RegExp(`${open}([\\s\\S]*?)\`\`\``, 'gi'))].at(-1)
  if (!block) {
    const isOpen = new RegExp(open, 'i').test(answer)
    return { reason: isOpen ? `the last ${name} block has no end` : `there is no ${name} block` }
  }
  const program = normalizeNewlines(itemAt(block, 1))
  return program.trim() === '' ? { reason: `the last ${name} block is empty` } : { program }
}

export type { ParsedTest }

/**
 * A bold header, with or without its colon, before or after the closing asterisks. Each blank can match in
 * only one way: with two ways the time would be quadratic.
 */
const header = (name: string) => new RegExp(`\\*\\*[ \\t]*${name}[ \\t]*(?::[ \\t]*)?\\*\\*[ \\t]*:?`, 'gi')

/**
 * Reads the unit test of an answer: the fenced texts after its last bold "Test Input" and "Test Output"
 * headers. Without a fence, the text up to the next bold header counts (rlanything 5.1). A test needs input
 * and output.
 */
export function parseUnitTest(answer: string): ParsedTest {
  const input = section(answer, 'Test Input')
  const output = section(answer, 'Test Output')
  if (input === null) return { reason: 'there is no "Test Input"' }
  if (output === null) return { reason: 'there is no "Test Output"' }
  if (input.trim() === '') return { reason: 'the input is empty' }
  if (output.trim() === '') return { reason: 'the output is empty' }
  return { test: { input, output } }
}

function section(answer: string, name: string): string | null {
  const head = [...answer.matchAll(header(name))].at(-1)
  if (!head) return null
  const rest = normalizeNewlines(answer.slice(head.index + head[0].length))
  const [, fenced] = /^\s*```[^\n`]*\n([\s\S]*?)```/.exec(rest) ?? []
  if (fenced !== undefined) return fenced
  const [plain = ''] = rest.split(/\n[ \t]*\*\*|\*\*Test /i)
  return `${plain.replace(/```/g, '').trim()}\n`
}

const normalizeNewlines = (text: string) => text.replace(/\r\n?/g, '\n')
