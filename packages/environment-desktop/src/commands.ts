/** `rl desktop ...`: how each command is called; what it does is loaded when it runs. */
import { defineCommand } from 'rlanything/environments'

const serve = defineCommand({
  help: `
rl desktop serve [--desktops N] [--port P] [--host H]

Starts N desktops and answers OSWorld's endpoints for each, on ports P, P+1, ... Prints one URL a line; Ctrl-C ends all of them.
POST /rl/reset makes a desktop as it was at the start.

  --desktops N   default 1
  --port P       of the first (default 5000; 0 takes free ones)
  --host H       default 127.0.0.1. OSWorld's endpoints know no password: whoever reaches them controls the desktop`,
  options: {
    desktops: { type: 'string', default: '1' },
    port: { type: 'string', default: '5000' },
    host: { type: 'string', default: '127.0.0.1' },
  },
  run: async ({ values }) => (await import('./commands/serve.ts')).serve(values),
})

const check = defineCommand({
  help: `
rl desktop check [--kind NAME...] [--desktops N] [--seed S]      our own tasks
rl desktop check --data FOLDER                                  OSWorld's task files: which of them can be judged here

Of each kind of task one is set up twice (both must look the same), done by its oracle (must succeed) and done wrongly (must fail).
Kinds whose program is missing are skipped. Prints tasks=N solved=N wrong=0 differences=0 faults=0 skipped=N last; ends with 1 where
a task was not solved, was done wrongly and counted, differed, or its desktop broke.

With --data each supported task is set up on a local desktop and nothing is done: it must not count as done. A task that does, or whose
set-up fails, is named as not fit, and the status is 1: take its file out of the folder. Whether the right actions give 1, the files
do not tell.

  --kind NAME    only these, e.g. mousepad or calc-sum; repeatable
  --desktops N   at a time (default 2)
  --seed S       of the tasks (default 1)`,
  options: {
    kind: { type: 'string', multiple: true },
    desktops: { type: 'string', default: '2' },
    seed: { type: 'string', default: '1' },
    data: { type: 'string' },
  },
  run: async ({ values }) => (await import('./commands/check.ts')).check(values),
})

export const commands = { serve, check }
