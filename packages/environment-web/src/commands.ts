/** The commands `rl web ...`. The code of a command is loaded when the command runs. */
import { defineCommand } from 'rlanything/environments'

const check = defineCommand({
  help: `
rl web check [--data FOLDER] [--seeds N]

Plays every page twice in two browsers with the same random actions, and with its oracle. The last line is
pages=N seeds=N differences=K solved=S (S pages were solved on every seed). The exit status is 1 if K is not 0 or a page
could not be played.

  --data FOLDER     MiniWoB++ pages (the folder with core/ and miniwob/); default: our own types of pages
  --seeds N         number of seeds of each page (default 4)
  --page NAME       only this page or type; repeatable
  --again           starts pages again without loading them, compares with fresh ones, and lists pages without leftovers
  --browser NAME    a path or a name on the PATH (default: the first that is found)
  --json            one JSON object a line`,
  options: {
    data: { type: 'string' },
    seeds: { type: 'string', default: '4' },
    page: { type: 'string', multiple: true },
    again: { type: 'boolean', default: false },
    browser: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
  run: async ({ values }) => (await import('./commands/check.ts')).check(values),
})

export const commands = { check }
