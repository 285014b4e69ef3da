import type { ParseArgsConfig, parseArgs } from 'node:util'

type Options = NonNullable<ParseArgsConfig['options']>

/** What a command is called with: the values of its options and the words beside them. */
type Words<O extends Options = Options> = {
  readonly values: ReturnType<typeof parseArgs<{ options: O; strict: true }>>['values']
  readonly positionals: readonly string[]
}

/** A command of a setting, `rl <setting> <command>`. What is heavy is imported when it runs. */
export interface SettingCommand<O extends Options = Options> {
  /** The whole help text; its first line shows how the command is called. */
  readonly help: string
  /** As `parseArgs` of node:util takes them. */
  readonly options?: O
  /** Words beside the options are allowed. */
  readonly positionals?: true
  /** Resolves to the exit status. */
  run(words: Words<O>): Promise<number>
}

/** Infers the types of the values from the options. */
export function defineCommand<const O extends Options>(command: SettingCommand<O>): SettingCommand {
  return command as SettingCommand
}
