/** Prompts, as files in config/prompts. Events name the SHA-256 of the used file. */
import { createHash } from 'node:crypto'
import { isAbsolute } from 'node:path'
import { fileURLToPath } from 'node:url'
import { PROBLEM } from '../../environments/setting.ts'
import { RlError } from '../../errors.ts'
import { itemAt } from '../../item-at.ts'
import type { ChatMessage, ContentPart, ImageRef } from '../../models/port.ts'
import { readTextSync } from '../../text-file.ts'

export type PromptFile = {
  /** Digest of the whole file. */
  readonly sha256: string
  /** The messages with every placeholder filled, by text or by images. Errors: `prompt.placeholder`. */
  readonly render: (values: Readonly<Record<string, string | readonly ImageRef[]>>) => ChatMessage[]
}

const FOLDER = fileURLToPath(new URL('../../../config/prompts/', import.meta.url))
const ROLES = { System: 'system', User: 'user' } as const
const PLACEHOLDER = /\{\{([a-z]+)\}\}/g

/**
 * Reads `config/prompts/<name>.md`, or the file of an absolute path: a line for people, then the parts `# System` and `# User`.
 * Errors: `prompt.missing`.
 */
export function readPrompt(name: string, folder = FOLDER): PromptFile {
  const path = isAbsolute(name) ? name : `${folder}${name}.md`
  let text: string
  try {
    text = readTextSync(path)
  } catch (cause) {
    if (cause instanceof RlError) throw cause
    throw new RlError(`there is no prompt file ${path}`, {
      code: 'prompt.missing',
      hint: 'ours are in config/prompts; one of yours is named by its absolute path',
      cause,
    })
  }
  return parsePrompt(name, text)
}

export function parsePrompt(name: string, text: string): PromptFile {
  const pieces = text.split(/^# (System|User)$/m).slice(1)
  const parts = pieces.flatMap((title, i) =>
    i % 2 === 0 ? [{ role: ROLES[title as keyof typeof ROLES], content: (pieces[i + 1] ?? '').trim() }] : [],
  )
  if (!parts.some(({ role }) => role === 'user'))
    throw new RlError(`the prompt '${name}' has no part '# User'`, { code: 'prompt.missing' })
  return {
    sha256: createHash('sha256').update(text).digest('hex'),
    render: (values) => parts.map(({ role, content }) => ({ role, content: filled(name, content, values) })),
  }
}

/** Returns a text, or parts if the template asks for values with images. */
function filled(
  name: string,
  template: string,
  values: Readonly<Record<string, string | readonly ImageRef[]>>,
): ChatMessage['content'] {
  const parts: ContentPart[] = []
  let text = ''
  for (const [index, piece] of template.split(PLACEHOLDER).entries()) {
    const value = index % 2 === 0 ? piece : values[piece]
    if (value === undefined)
      throw new RlError(`the prompt '${name}' asks for {{${piece}}}`, {
        code: 'prompt.placeholder',
        hint: `it may use ${Object.keys(values).join(', ')}`,
      })
    if (typeof value === 'string') text += value
    else if (value.length > 0) {
      if (text !== '') parts.push({ type: 'text', text })
      parts.push(...value.map((image): ContentPart => ({ type: 'image', image })))
      text = ''
    }
  }
  if (parts.length === 0) return text
  return text === '' ? parts : [...parts, { type: 'text', text }]
}

/** An episode in lines, for prompts. */
export type EpisodeLines = {
  /** [actions + 1], or [actions] if the last one is not to be shown. */
  readonly observations: readonly string[]
  readonly actions: readonly string[]
}

/**
 * Returns `observation: …` and `action: …` in turn, from the first observation on.
 *
 * @param steps number of latest actions that are shown; the first observation always is
 * @param numbered whether actions bear their number, from 1
 */
export function episodeText(
  { observations, actions }: EpisodeLines,
  { steps = null, numbered = false }: { readonly steps?: number | null; readonly numbered?: boolean } = {},
): string {
  const first = steps === null ? 0 : Math.max(0, actions.length - steps)
  const lines = [`observation: ${withoutWelcome(itemAt(observations, 0))}`]
  if (first > 0) lines.push(`(${first} earlier steps are left out)`)
  for (let i = first; i < actions.length; i++) {
    lines.push(`${numbered ? `action ${i + 1}` : 'action'}: ${actions[i]}`)
    if (i + 1 < observations.length) lines.push(`observation: ${observations[i + 1]}`)
  }
  return lines.join('\n')
}

/**
 * Tells a seeing model what was done: each action on a line with its number, and why it could not be done.
 *
 * @param brief an action in a line
 * @param steps number of latest actions that are told; null for all
 */
export function doneText(
  { observations, actions }: EpisodeLines,
  brief: (action: string) => string,
  steps: number | null,
): string {
  const first = steps === null ? 0 : Math.max(0, actions.length - steps)
  const lines = actions.slice(first).flatMap((action, i) => {
    const after = observations[first + i + 1] ?? ''
    const problem = after.startsWith(PROBLEM) ? [`   ${after.split('\n', 1)[0]}`] : []
    return [`${first + i + 1}. ${brief(action)}`, ...problem]
  })
  return lines.length === 0 ? 'nothing yet' : lines.join('\n')
}

function withoutWelcome(observation: string): string {
  return observation.startsWith('-= Welcome') ? observation.split('\n\n').slice(1).join('\n') : observation
}
