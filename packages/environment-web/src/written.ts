/**
 * An agent's own text must never become markup or a program of a page, in any spelling and on any page.
 * Nothing is guessed from the text. The same steps are repeated with other letters, and the effects of both
 * texts are compared.
 */
import { withShift } from '@rlanything/environment-desktop/screen'
import type { Sinks } from './reading.ts'
import type { Step } from './steps.ts'

/** Characters that have no meaning to any language by themselves. */
const PLAIN = /^[\p{L}\p{M}\p{N}\s.,:;!?'"()@$€+*/_-]*$/u
/** Numbers and characters that join them. They reach nothing of a page. */
const ARITHMETIC = /^[\d\s.+\-*/%()]*$/

/** A piece of text that a step writes: all of it, or a letter of many. */
type Piece = { readonly text: string; readonly isWhole: boolean }

/** The same steps with each piece as a function gives it back. */
function rewritten(steps: readonly Step[], piece: (piece: Piece) => string): Step[] {
  let shift = false
  const letter = (key: string, isShifted: boolean) =>
    [...key].length === 1 ? piece({ text: isShifted ? withShift(key) : key, isWhole: false }) : key
  return steps.map((step): Step => {
    if (step.kind === 'command') {
      const [verb, ref, argument = ''] = step.command
      if (verb === 'type') return { ...step, command: [verb, ref, piece({ text: argument, isWhole: true })] }
      const [, held, key] = /^(shift\+)?(.)$/isu.exec(verb === 'press' ? argument : '') ?? []
      return key === undefined ? step : { ...step, command: [verb, ref, letter(key, held !== undefined)] }
    }
    const actions = step.actions.map((action) => {
      switch (action.type) {
        case 'type':
          return { ...action, text: [...action.text].map((one) => letter(one, shift)).join('') }
        case 'press':
          return { ...action, keys: action.keys.map((key) => letter(key, shift)) }
        case 'hotkey': {
          const [last = '', ...held] = action.keys.toReversed()
          const writes = held.every((key) => SHIFT.test(key))
          return writes && [...last].length === 1
            ? { type: 'type' as const, text: letter(last, shift || held.length > 0) }
            : action
        }
        case 'key-down':
        case 'key-up':
          if (SHIFT.test(action.key)) shift = action.type === 'key-down'
          else if (action.type === 'key-down') return { ...action, key: letter(action.key, shift) }
          return action
        default:
          return action
      }
    })
    return { ...step, actions }
  })
}

const SHIFT = /^shift/

/** Returns texts in the order of writing. Letters that are written one by one make one text. */
function textsOf(steps: readonly Step[]): string[] {
  const texts: string[] = []
  let isOpen = false
  rewritten(steps, ({ text, isWhole }) => {
    if (isOpen && !isWhole) texts[texts.length - 1] += text
    else texts.push(text)
    isOpen = !isWhole
    return text
  })
  return texts
}

/** Whether a text is part of another one as it is, from word to word. */
function isGiven(text: string, given: string): boolean {
  const wanted = text.trim()
  if (wanted === '') return true
  const isPart = (character: string | undefined) => character !== undefined && /[\p{L}\p{N}]/u.test(character)
  for (let at = given.indexOf(wanted); at >= 0; at = given.indexOf(wanted, at + 1))
    if (!isPart(given[at - 1]) && !isPart(given[at + wanted.length])) return true
  return false
}

/** Texts that some steps write and that neither the task nor the page at its start has. */
export function ownTexts(steps: readonly Step[], given: string): readonly string[] {
  return textsOf(steps).filter((text) => !isGiven(text, given))
}

/**
 * Returns the same steps with other letters in the agent's own texts. Figures and characters between words
 * stay.
 */
export function withOtherLetters(steps: readonly Step[], own: readonly string[]): Step[] {
  const left = textsOf(steps)
  let [at, isOpen] = [-1, false]
  return rewritten(steps, ({ text, isWhole }) => {
    if (!isOpen || isWhole) at++
    isOpen = !isWhole
    const part = left[at]
    if (part === undefined || !own.includes(part)) return text
    return [...text].map((one) => (/[\s.,:@'/-]/u.test(one) ? one : /\p{N}/u.test(one) ? '1' : 'x')).join('')
  })
}

const programsOf = ({ programs }: Sinks) => programs.filter((program) => !ARITHMETIC.test(program))
const isMarked = (own: readonly string[]) => own.some((text) => !PLAIN.test(text))

/** Whether the effects of texts on the page may come from the agent's own text. */
export function isDoubtful(sinks: Sinks, own: readonly string[]): boolean {
  if (own.length === 0) return false
  return sinks.full || programsOf(sinks).length > 0 || (isMarked(own) && sinks.elements.length > 0)
}

/**
 * Returns what the agent's own texts have become, compared with other texts of their form. Returns null if
 * nothing.
 */
export function becomes(sinks: Sinks, others: Sinks, own: readonly string[]): 'a program' | 'markup' | null {
  const known = new Set(others.programs)
  if (programsOf(sinks).some((program) => !known.has(program))) return 'a program'
  if (sinks.full) return 'markup'
  if (!isMarked(own)) return null
  const counts = new Map<string, number>()
  for (const element of others.elements) counts.set(element, (counts.get(element) ?? 0) + 1)
  for (const element of sinks.elements) {
    const left = counts.get(element) ?? 0
    if (left === 0) return 'markup'
    counts.set(element, left - 1)
  }
  return null
}
