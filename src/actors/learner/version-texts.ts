/** Texts of the policy's versions, for models that learn by instructions. */
import type { LoggedEvent } from '../../events/catalogue.ts'
import { systemText } from '../../learning/instructions.ts'

export type VersionTexts = {
  readonly see: (event: LoggedEvent) => void
  /** Returns the text that stands before the calls of a version: that of the newest choice up to it. Empty for none. */
  readonly textOf: (version: number) => string
}

export function openVersionTexts(): VersionTexts {
  const texts = new Map<number, string>()
  return {
    see({ type, data }) {
      if (type === 'InstructionsChosen') texts.set(data.version, systemText(data))
    },
    textOf(version) {
      const newest = Math.max(-1, ...[...texts.keys()].filter((one) => one <= version))
      return texts.get(newest) ?? ''
    },
  }
}
