/** Checks units of systemd: what systemd says of them, and the command lines that they start. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type CommandLine, commandLinesOf } from './command-lines.ts'
import { complaintOf, type Fault } from './fault.ts'

export type UnitCheck = { readonly faults: readonly Fault[]; readonly lines: readonly CommandLine[] }

/** Keys without which a unit would run as root, or be restarted after a run that is complete. */
const NEEDED: readonly (readonly [key: string, value: RegExp])[] = [
  ['Restart', /^on-failure$/],
  ['NoNewPrivileges', /^true$/],
  ['ProtectSystem', /^(strict|full)$/],
]

export function checkUnit(folder: string, file: string, hasSystemd: boolean): UnitCheck {
  const text = readFileSync(join(folder, file), 'utf8')
  const values = (key: string) =>
    [...text.matchAll(new RegExp(`^${key}=(.*)$`, 'gm'))].map(([, value = '']) => value)
  const faults = NEEDED.filter(([key, value]) => !values(key).some((one) => value.test(one))).map(
    ([key]) => `${key} is '${values(key).join()}'`,
  )
  const [user] = values('User')
  if (user === 'root' || (user === undefined && !values('DynamicUser').includes('true')))
    faults.push('it would run as root: it has neither User nor DynamicUser')
  // It ends with status 0 whatever it finds, so what it prints counts.
  const complaint = hasSystemd
    ? complaintOf('systemd-analyze', ['verify', join(folder, file)], { silent: true })
    : null
  const lines = values('ExecStart').flatMap((line) => commandLinesOf(file, line))
  if (lines.length === 0 && !values('ExecStart').some((line) => line.includes('vllm serve')))
    faults.push('it starts no command of this project')
  return {
    faults: [...faults, ...(complaint === null ? [] : [complaint])].map((said) => ({ file, text: said })),
    lines,
  }
}
