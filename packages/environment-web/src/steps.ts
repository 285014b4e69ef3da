/** One step of an agent on a page: a command on an element, or places and keys as a person uses them. */

import {
  type Grammar,
  type Point,
  parseAnswer,
  type ScreenAction,
  type ScreenSize,
  withinReach,
} from '@rlanything/environment-desktop/screen'
import { itemAt, RlError } from 'rlanything/kit'
import type { Json } from './browser/cdp.ts'
import type { Page } from './browser/page.ts'
import { type Command, parseCommand } from './command.ts'

/** `ends`: the agent says that it is over. */
export type Step =
  | { readonly kind: 'command'; readonly command: Command; readonly ends: false }
  | { readonly kind: 'screen'; readonly actions: readonly ScreenAction[]; readonly ends: boolean }

/** Most letters, keys and clicks of one step. Each takes two messages to the browser. */
const MOST_STROKES = 2_000

export type StepReader = (text: string) => Step | { readonly problem: string }

/**
 * @param screen size of the page, in its own pixels
 * @param scale pixels of a picture for one pixel of the page; agents count in pixels of the picture
 */
export function stepReader(grammar: Grammar, screen: ScreenSize, scale: number): StepReader {
  const shown = { width: screen.width * scale, height: screen.height * scale }
  return function readStep(text) {
    if (grammar === 'commands') {
      const command = parseCommand(text)
      if ('problem' in command) return command
      if (command[0] !== 'click-at') return { kind: 'command', command, ends: false }
      const place = command[2]!.split(' ').map(Number)
      const at = { x: itemAt(place, 0), y: itemAt(place, 1) }
      return screenStep([{ type: 'click', at, button: 'left', count: 1 }], scale)
    }
    try {
      return screenStep(withinReach(parseAnswer(grammar, text, shown), MOST_STROKES), scale)
    } catch (error) {
      if (error instanceof RlError && error.code === 'screen.action') return { problem: error.message }
      throw error
    }
  }
}

function screenStep(actions: readonly ScreenAction[], scale: number): Step {
  const placed = (point: Point | null): Point | null => point && { x: point.x / scale, y: point.y / scale }
  const onPage = actions.map((action): ScreenAction => {
    if ('at' in action) return { ...action, at: placed(action.at) }
    return 'to' in action ? { ...action, to: placed(action.to)! } : action
  })
  return { kind: 'screen', actions: onPage, ends: actions.some(({ type }) => type === 'end') }
}

/**
 * Does steps on a page and asks it. Commands go together in one call. A person's input goes through the
 * browser, between calls.
 * @param start begins an episode before them
 */
export async function perform(
  page: Page,
  start: Json | null,
  steps: readonly Step[],
  ask: Json,
  deadlineMs: number,
): Promise<unknown> {
  let begin = start
  let commands: Command[] = []
  const play = async (more: Json) => {
    const told = await page.play(
      { ...(begin ? { start: begin } : {}), actions: commands, ...more },
      deadlineMs,
    )
    begin = null
    commands = []
    return told
  }
  if (start) await page.rest(deadlineMs)
  for (const step of steps) {
    if (step.kind === 'command') {
      commands.push(step.command)
      continue
    }
    if (begin || commands.length > 0) await play({})
    for (const action of step.actions) {
      // Some pages begin anew if one clicks on after their end.
      if (action.type === 'end' || (await page.call('over', null, deadlineMs)) === true) break
      if (action.type === 'wait') await page.call('pass', action.seconds, deadlineMs)
      else await page.input(action, deadlineMs)
    }
    await page.call('painted', null, deadlineMs)
    commands.push(['wait', 0])
  }
  return play(ask)
}
