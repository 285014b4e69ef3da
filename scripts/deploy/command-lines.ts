/** Finds the commands of this project in the files that place a run, whatever starts them. */
import { shellCommands } from './shell-words.ts'

export type CommandLine = {
  readonly file: string
  readonly program: 'rl' | 'trainer' | 'npm'
  readonly words: readonly string[]
}

const IMAGE = /^(\S+\/)?rlanything(:\S+)?$/

export function isOwnImage(image: string): boolean {
  return IMAGE.test(image)
}

/** Finds them in a text of shell, or in one command that is given as words. */
export function commandLinesOf(file: string, text: string | readonly string[]): readonly CommandLine[] {
  if (typeof text === 'string') return shellCommands(text).flatMap((words) => lineOf(file, words))
  const [shell, flag, script] = text
  if (/^(ba)?sh$/.test(shell ?? '') && flag === '-c') return commandLinesOf(file, script ?? '')
  return lineOf(file, text)
}

/** Finds them in the code blocks of a page. */
export function commandLinesOfPage(file: string, text: string): readonly CommandLine[] {
  return [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].flatMap(([, code = '']) =>
    commandLinesOf(file, code),
  )
}

function lineOf(file: string, words: readonly string[]): readonly CommandLine[] {
  const rl = words.findIndex((word) => word === 'rl' || word.endsWith('/bin/rl'))
  const npm = words.indexOf('npm')
  if (npm >= 0 && words[npm + 1] === 'start')
    return [{ file, program: 'rl', words: ['start', ...words.slice(npm + 3)] }]
  if (npm >= 0 && rl < 0) {
    const [script] = words.slice(npm + 2).filter((word) => !word.startsWith('-'))
    return words[npm + 1] === 'run' && script !== undefined ? [{ file, program: 'npm', words: [script] }] : []
  }
  if (rl >= 0) {
    const rest = words.slice(rl + 1)
    return [{ file, program: 'rl', words: rest[0] === '--' ? rest.slice(1) : rest }]
  }
  const trainer = words.findIndex((word) => /^rlanything[-_]trainer$/.test(word))
  if (trainer >= 0) return [{ file, program: 'trainer', words: words.slice(trainer + 1) }]
  const image = words[1] === 'run' ? words.findIndex(isOwnImage) : -1
  return image < 0 ? [] : [{ file, program: 'rl', words: words.slice(image + 1) }]
}
