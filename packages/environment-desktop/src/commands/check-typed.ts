import { explain, wholeNumber } from 'rlanything/kit'
import { programPath } from '../local/sandbox.ts'
import { TYPED_PROGRAMS, type TypedProgram } from '../typed/programs.ts'
import { typeLines } from '../typed/type-lines.ts'

type Values = {
  readonly kind?: readonly string[]
  readonly desktops: string
  readonly seed: string
  readonly lines: string
}

const MOST_TOLD = 5

/** Types lines into each program that is here. The status is 1 if a line was lost or a desktop broke. */
export async function checkTyped({ kind: wanted, desktops, seed: from, lines }: Values): Promise<number> {
  const [seed, count] = [wholeNumber('--seed', from), wholeNumber('--lines', lines, 1)]
  const queue = TYPED_PROGRAMS.filter(({ name }) => wanted?.includes(name) ?? true).filter(
    ({ name, program }) => {
      if (programPath(program) !== null) return true
      process.stdout.write(`SKIP ${name}: ${program} missing\n`)
      return false
    },
  )
  const all = { programs: queue.length, typed: 0, lost: 0 }
  const work = async () => {
    for (let program = queue.shift(); program; program = queue.shift()) {
      const lost = await lostIn(program, { seed, count })
      if (lost === null) continue
      all.typed += count
      all.lost += lost
    }
  }
  await Promise.all(Array.from({ length: wholeNumber('--desktops', desktops, 1) }, work))
  const { programs, typed, lost } = all
  process.stdout.write(`programs=${programs} lines=${typed} lost=${lost}\n`)
  return lost > 0 || typed < programs * count ? 1 : 0
}

/** Resolves to the number of lost lines, or to null if the desktop broke. */
async function lostIn(
  program: TypedProgram,
  wanted: { readonly seed: number; readonly count: number },
): Promise<number | null> {
  const tell = (what: string) => process.stdout.write(`${program.name}: ${what}\n`)
  const start = performance.now()
  try {
    const lost = await typeLines(program, wanted)
    for (const { wanted, found } of lost.slice(0, MOST_TOLD))
      tell(`wanted ${JSON.stringify(wanted)}, found ${JSON.stringify(found)}`)
    const seconds = Math.round((performance.now() - start) / 1000)
    tell(`${wanted.count} lines in ${seconds} s, ${lost.length} lost`)
    return lost.length
  } catch (error) {
    tell(explain(error))
    return null
  }
}
