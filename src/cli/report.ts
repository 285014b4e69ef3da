/** `rl report`: one file that shows a run anywhere. */
import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseCommandLine, printJson, printLine } from '../command-line.ts'
import { explain, RlError } from '../errors.ts'
import { makeReport } from '../ui/server/report.ts'
import type { Command } from './command.ts'

export const command: Command = {
  summary: 'writes one file that shows a run in any browser, without a server',
  help: `
rl report RUN [-o FILE] [--json]

Writes the pages of the run as it stands: figures, iterations, tasks, judge, and rollouts. Those of the last iterations
come first, until the file has 5 MB. The file opens without a network, and asks nobody. RUN may be 'latest'.

  -o FILE   where to                                     (RUN.html)
  --json    prints the file, its size, and the numbers of pages in it and left out
`,
  async run(argv) {
    const { values, positionals } = parseCommandLine(
      {
        options: {
          output: { type: 'string', short: 'o' },
          json: { type: 'boolean', default: false },
        },
        allowPositionals: true,
      },
      argv,
    )
    const [run, ...rest] = positionals
    if (run === undefined || rest.length > 0)
      throw new RlError('expected one run', { code: 'cli.usage', hint: 'rl runs lists them' })
    const file = values.output ?? `${run}.html`
    const tells = process.stderr.isTTY
    const { html, held, left } = await makeReport(run, (count) => {
      if (tells && count % 50 === 0) process.stderr.write(`\r${count} pages`)
    })
    if (tells) process.stderr.write('\r\x1b[2K')
    write(file, html)
    if (values.json) printJson({ file, bytes: html.length, held, left })
    else {
      printLine(
        left === 0 ? `${held} pages` : `${held} pages; ${left} did not fit: rl ui ${run} shows them all`,
      )
      printLine(`${file} ${html.length} bytes`)
    }
    return 0
  },
}

/** A reader of the file never sees a part of it. */
function write(file: string, html: Buffer): void {
  const part = `${resolve(file)}.part`
  try {
    writeFileSync(part, html)
    renameSync(part, file)
  } catch (cause) {
    rmSync(part, { force: true })
    throw new RlError(`the report cannot be written: ${explain(cause)}`, {
      code: 'report.not-written',
      hint: 'name another file: rl report RUN -o FILE',
      cause,
    })
  }
}
