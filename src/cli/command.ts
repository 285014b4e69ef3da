/** One `rl` command: a file under src/cli that exports `command`. */
export type Command = {
  /** One line for `rl --help`. */
  readonly summary: string
  /** The whole help text, printed for `--help`. */
  readonly help: string
  /** Its actions answer `--help` themselves. */
  readonly actionsHaveHelp?: true
  /** The command works whether somebody reads its output or not. */
  readonly serves?: true
  /** Runs with the words after the command's name. Resolves to the exit status. */
  readonly run: (argv: readonly string[]) => Promise<number>
}
