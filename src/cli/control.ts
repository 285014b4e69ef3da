/** `rl pause` and `rl resume`: both ask the running head. */
import type { ControlAction, ControlAnswer } from '../actors/head/control.ts'
import { controlHead } from '../actors/head/control-head.ts'
import { runFolder } from '../broker/connection.ts'
import { isoTime } from '../clock.ts'
import { parseCommandLine, printJson, printLine } from '../command-line.ts'
import { RlError } from '../errors.ts'

/** Runs `rl pause` or `rl resume` with the words after its name. */
export async function control(action: ControlAction, argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseCommandLine(
    {
      options: { json: { type: 'boolean', default: false }, reason: { type: 'string' } },
      allowPositionals: true,
    },
    argv,
  )
  const [run, ...rest] = positionals
  if (run === undefined || rest.length > 0)
    throw new RlError('expected one run', { code: 'cli.usage', hint: 'rl runs lists them' })
  const answer = await controlHead(runFolder(run), action, values.reason)
  if (values.json) printJson({ run, ...answer })
  else for (const line of linesOf(run, answer)) printLine(line)
  return 0
}

function linesOf(run: string, answer: ControlAnswer): readonly string[] {
  const { state, changed, since, reason, position, openRollouts, inHand } = answer
  if (state === 'running')
    return [
      changed ? `run ${run} goes on after position ${position}` : `run ${run} is not paused: it is running`,
    ]
  const when = `since ${isoTime(since ?? 0).slice(0, 19)}Z (${reason})`
  return [
    changed
      ? `run ${run} is paused ${when}, at position ${position}`
      : `run ${run} is paused already, ${when}`,
    ...(openRollouts > 0 ? [`${openRollouts} rollouts are asked for and not over; those in hand end`] : []),
    ...inHand.map((job) => `  in hand: ${job}`),
    `go on with: npm run -s rl -- resume ${run}`,
  ]
}
