import type { Language } from './provider.ts'

/** A hostile program that a sandbox must contain. If it gets through, it prints ESCAPED (trial.ts). */
export type Attack = {
  readonly name: string
  readonly what: string
  readonly program: string
  /** Default Python. */
  readonly language?: Language
}
