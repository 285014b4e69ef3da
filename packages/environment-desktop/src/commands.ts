/** The commands `rl desktop ...`. The code of a command is loaded when the command runs. */
import { defineCommand } from 'rlanything/environments'

const serve = defineCommand({
  help: `
rl desktop serve [--desktops N] [--port P] [--host H]

Starts N desktops and answers OSWorld's endpoints for each, on ports P, P+1, ... Prints one URL a line. Ctrl-C ends all
of them. POST /rl/reset resets a desktop to its start.

  --desktops N   number of desktops (default 1)
  --port P       port of the first (default 5000; 0 takes free ones)
  --host H       default 127.0.0.1. OSWorld's endpoints know no password: anybody who reaches them controls the desktop`,
  options: {
    desktops: { type: 'string', default: '1' },
    port: { type: 'string', default: '5000' },
    host: { type: 'string', default: '127.0.0.1' },
  },
  serves: true,
  run: async ({ values }) => (await import('./commands/serve.ts')).serve(values),
})

const check = defineCommand({
  help: `
rl desktop check [--kind NAME...] [--desktops N] [--seed S]      our own tasks
rl desktop check --data FOLDER [--record]                       OSWorld's task files: those that can be judged here
rl desktop check --typed [--lines N] [--kind NAME...]           lines typed into each program: does each key arrive?

One task of each kind is set up twice (both must look the same), done by its oracle (must succeed) and done wrongly (must
fail). Kinds whose program is missing are skipped. The last line is
tasks=N solved=N wrong=0 differences=0 faults=0 skipped=N. The exit status is 1 if a task was not solved, was done wrongly
and counted, differed, or its desktop broke.

With --data each supported task is set up on a local desktop and nothing is done: it must not count as done. If it does,
or its set-up fails, it is named as not fit, and the exit status is 1. With --record those that count as done are noted in
the folder's done-tasks.json, and no run plays them. The files do not tell whether the right actions give 1.

With --typed drawn lines are typed into each program that is here, by the commands of an agent, and compared with what the
program has then. The last line is programs=N lines=N lost=0. The exit status is 1 if a line did not arrive as it was typed,
or a desktop broke.

  --kind NAME    only this kind, e.g. mousepad or calc-sum; repeatable. With --typed a program: mousepad, xterm, pcmanfm,
                 galculator, calc, writer or chromium
  --lines N      lines for each program (default 200)
  --desktops N   desktops at a time (default 2)
  --seed S       seed of the tasks and of the lines (default 1)`,
  options: {
    kind: { type: 'string', multiple: true },
    desktops: { type: 'string', default: '2' },
    seed: { type: 'string', default: '1' },
    data: { type: 'string' },
    record: { type: 'boolean' },
    typed: { type: 'boolean' },
    lines: { type: 'string', default: '200' },
  },
  run: async ({ values }) =>
    values.typed
      ? (await import('./commands/check-typed.ts')).checkTyped(values)
      : (await import('./commands/check.ts')).check(values),
})

export const commands = { serve, check }
