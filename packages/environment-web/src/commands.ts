/** `rl web ...`: how each command is called; what it does is loaded when it runs. */
import { defineCommand } from 'rlanything/environments'

const check = defineCommand({
  help: `
rl web check [--data FOLDER] [--seeds N]

Plays every page twice in two browsers with the same random actions, and with its oracle. Prints pages=N seeds=N differences=K
solved=S last (S pages were solved on every seed) and ends with 1 where K is not 0 or a page could not be played.

  --data FOLDER     MiniWoB++ pages (the folder with core/ and miniwob/); without it our own types of pages
  --seeds N         seeds of each page (default 4)
  --page NAME       only this page or type; repeatable
  --again           starts pages again without loading them and compares with fresh ones: lists those that leave nothing behind
  --browser NAME    a path or a name on the PATH (default the first that is there)
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
