import type { Command } from './command.ts'
import { control } from './control.ts'

export const command: Command = {
  summary: 'lets a run go on that rl pause paused',
  help: `
rl resume RUN [--reason TEXT] [--json]

Asks the head of the run to go on where rl pause paused it. A run whose head has ended goes on with
npm start -- --role head --run RUN. If the disk is full, the run stays paused until there is room.
--reason stands in the log (200 characters at most). --json prints what the head answers.
`,
  run: (argv) => control('resume', argv),
}
