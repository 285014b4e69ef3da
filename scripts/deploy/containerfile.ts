/** Checks a Containerfile: fixed images, no root, and the project's own command. */
import type { Fault } from './fault.ts'

type Step = { readonly word: string; readonly rest: string }

export function containerfileFaults(file: string, text: string): readonly Fault[] {
  const steps = stepsOf(text)
  const last = (word: string) => steps.findLast((step) => step.word === word)?.rest ?? ''
  const faults = [
    ...steps.filter(({ word }) => !WORDS.has(word)).map(({ word }) => `'${word}' is no instruction`),
    ...steps
      .filter(({ word, rest }) => word === 'FROM' && isLoose(rest.split(/\s/)[0] ?? ''))
      .map(({ rest }) => `FROM ${rest} has no version`),
  ]
  if (!/^[1-9]\d*(:[1-9]\d*)?$/.test(last('USER')))
    faults.push(`the last USER is '${last('USER')}', expected the number of a user that is not root`)
  if (last('ENTRYPOINT') !== '["rl"]') faults.push(`ENTRYPOINT is ${last('ENTRYPOINT')}, expected ["rl"]`)
  return faults.map((said) => ({ file, text: said }))
}

const WORDS = new Set(
  'FROM RUN COPY ENV WORKDIR VOLUME USER ENTRYPOINT CMD LABEL ARG EXPOSE STOPSIGNAL'.split(' '),
)

/** An image without a tag, or with one that moves. */
export function isLoose(image: string): boolean {
  return !/(:[^/:]*\d[^/:]*|@sha256:[0-9a-f]{64})$/.test(image)
}

function stepsOf(text: string): readonly Step[] {
  return text
    .replace(/^\s*#.*$/gm, '')
    .replace(/\\\n/g, ' ')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .map((line) => {
      const [, word = line, rest = ''] = /^(\S+)\s+(.*)$/.exec(line) ?? []
      return { word, rest }
    })
}
