import type { Command } from './command.ts'
import { control } from './control.ts'

export const command: Command = {
  summary: 'pauses a running run; its processes stay',
  help: `
rl pause RUN [--reason TEXT] [--json]

Asks the head of the run to pause it. No new rollout and no new iteration begins. Rollouts in hand end and are judged,
and updates in hand end. Nothing is lost, and no deadline of a wait passes meanwhile. rl resume RUN goes on.
A gateway's agent may still claim a rollout that it was offered before the pause.
Processes keep their memory and models. To free them, end the head with Ctrl-C; starting it again also ends the pause.
--reason stands in the log (200 characters at most). --json prints what the head answers.
`,
  run: (argv) => control('pause', argv),
}
