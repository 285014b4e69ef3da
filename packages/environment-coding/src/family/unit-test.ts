/**
 * The form in which a small model reads and writes a unit test of a generated problem: `input`, the input,
 * `output`, the output.
 */

import { rng, type Seed } from 'rlanything/environments'
import { itemAt } from 'rlanything/kit'
import type { ParsedTest } from '../parse.ts'
import type { CodingProblem, TestCase } from '../problem.ts'

export const writeUnitTest = ({ input, output }: TestCase): string =>
  `input ${input.trimEnd()} output ${output.trimEnd()}\n`

/** Returns a problem as a small writer of tests reads it. Its examples have the form of the answer. */
export const compactProblem = ({
  question,
  examples,
}: Pick<CodingProblem, 'question' | 'examples'>): string =>
  `${question}\n${examples.map(writeUnitTest).join('')}`

/**
 * Returns the last test of a text. White space between words is ignored, as a word-level tokenizer keeps
 * none.
 */
export function readUnitTest(text: string): ParsedTest {
  const words = [...text.matchAll(/\b(?:input|output)\b/g)]
  const last = words.findLastIndex(([word], i) => word === 'input' && words[i + 1]?.[0] === 'output')
  if (last < 0) return { reason: 'there is no "input" with an "output" after it' }
  const { index: start } = itemAt(words, last)
  const { index: middle } = itemAt(words, last + 1)
  const input = text.slice(start + 'input'.length, middle).trim()
  const output = text.slice(middle + 'output'.length).trim()
  if (input === '') return { reason: 'the input is empty' }
  if (output === '') return { reason: 'the output is empty' }
  return { test: { input: `${input}\n`, output: `${output}\n` } }
}

/**
 * A scripted reward model. It returns one of the problem's tests with probability `skill`. Otherwise it
 * returns one with another test's output, or none.
 */
export function scriptedUnitTest(tests: readonly TestCase[], skill: number, seed: Seed): string {
  const random = rng(seed)
  const test = random.pick(tests)
  if (random.uniform() < skill) return writeUnitTest(test)
  const others = tests.filter(({ output }) => output !== test.output)
  return others.length > 0 && random.uniform() < 0.8
    ? writeUnitTest({ input: test.input, output: random.pick(others).output })
    : 'input output'
}
