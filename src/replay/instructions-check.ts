/** Checks learning by instructions: verdicts and texts follow from the outcomes in the log alone. */
import {
  INSTRUCTION_EVENTS,
  type InstructionFold,
  openInstructionFold,
  weighingOf,
} from '../actors/policy/instructions-fold.ts'
import type { Config } from '../config.ts'
import type { EventData, LoggedEvent } from '../events/catalogue.ts'
import { systemText } from '../learning/instructions.ts'
import { memberOf, type WeighingOptions, weigh } from '../learning/population.ts'

export type InstructionCheck = {
  readonly see: (event: LoggedEvent, config: Config) => void
  /** Returns what contradicts the outcomes in a version's events, or null. */
  readonly wrong: (version: number) => string | null
}

/** Other machines may compute other last digits. */
const TOLERANCE = 1e-9

export function openInstructionCheck(): InstructionCheck {
  const fold = openInstructionFold()
  const found = new Map<number, string>()
  const seen: ReadonlySet<string> = new Set(INSTRUCTION_EVENTS)

  return {
    see(event, config) {
      if (!seen.has(event.type)) return
      const { type, data } = event
      if (type === 'InstructionsWeighed' || type === 'InstructionsChosen') {
        fold.takeRounds(data.version)
        const weighing = weighingOf(config.policy.instructions, config)
        const wrong =
          type === 'InstructionsWeighed'
            ? weighedWrong(fold, data, weighing)
            : chosenWrong(fold, data, weighing)
        if (wrong !== null && !found.has(data.version)) found.set(data.version, wrong)
      }
      fold.see(event as Parameters<typeof fold.see>[0])
    },
    wrong: (version) => found.get(version) ?? null,
  }
}

function weighedWrong(
  { state }: InstructionFold,
  { member, verdict, difference }: EventData<'InstructionsWeighed'>,
  weighing: WeighingOptions,
): string | null {
  const due = weigh(state.population, weighing)
  if (due === null) return `InstructionsWeighed: candidate ${member} had nothing to be weighed by`
  if (due.member !== member) return `InstructionsWeighed: candidate ${member}, where ${due.member} was due`
  if (due.verdict !== verdict)
    return `InstructionsWeighed: ${verdict}, where the outcomes give ${due.verdict}`
  for (const name of ['value', 'low', 'high', 'n'] as const)
    if (Math.abs(due.difference[name] - difference[name]) > TOLERANCE)
      return `InstructionsWeighed: difference.${name} ${difference[name]}, where the outcomes give ${due.difference[name]}`
  return null
}

function chosenWrong(
  { state }: InstructionFold,
  { member, best, ...text }: EventData<'InstructionsChosen'>,
  weighing: WeighingOptions,
): string | null {
  const { population } = state
  if (weigh(population, weighing) !== null) return 'InstructionsChosen: a candidate was not weighed before'
  if (best !== population.best) return `InstructionsChosen: best ${best}, where it is ${population.best}`
  if (!population.members.some(({ id }) => id === member))
    return `InstructionsChosen: there is no member ${member}`
  return systemText(memberOf(population, member).text) === systemText(text)
    ? null
    : `InstructionsChosen: it is not the text of member ${member}`
}
