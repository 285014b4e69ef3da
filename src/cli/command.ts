/** One `rl` command: a file under src/cli that exports `command`. */
export type Command = {
  /** One line for `rl --help`. */
  readonly summary: string
  /** The whole help text, printed for `--help`. */
  readonly help: string
  /** Its actions answer `--help` themselves. */
  readonly actionsHaveHelp?: true
  /** It does its work whether somebody reads what it prints or not. */
  readonly serves?: true
  /** Runs with the words after the command's name; resolves to the exit status. */
  readonly run: (argv: readonly string[]) => Promise<number>
}
