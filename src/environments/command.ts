import type { ParseArgsConfig, parseArgs } from 'node:util'

type Options = NonNullable<ParseArgsConfig['options']>

/** Arguments of a command: the values of its options, and the words beside them. */
type Words<O extends Options = Options> = {
  readonly values: ReturnType<typeof parseArgs<{ options: O; strict: true }>>['values']
  readonly positionals: readonly string[]
}

/** A command of a setting, `rl <setting> <command>`. Import heavy modules in `run`, not at the top. */
export interface SettingCommand<O extends Options = Options> {
  /** The whole help text. Its first line shows how to call the command. */
  readonly help: string
  /** Options in the form of `parseArgs` of node:util. */
  readonly options?: O
  /** Allows words beside the options. */
  readonly positionals?: true
  /** True for a server: it goes on if the reader of its output goes. */
  readonly serves?: true
  /** Resolves to the exit status. */
  run(words: Words<O>): Promise<number>
}

/**
 * Returns the command. The types of its values are inferred from its options.
 *
 * @example
 * const count = defineCommand({
 *   help: 'rl mine count [--split NAME]',
 *   options: { split: { type: 'string' } },
 *   run: async ({ values }) => { printLine(String(countTasks(values.split ?? 'train'))); return 0 },
 * })
 */
export function defineCommand<const O extends Options>(command: SettingCommand<O>): SettingCommand {
  return command as SettingCommand
}
