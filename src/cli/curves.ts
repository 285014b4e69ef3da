import { defineCommand } from '../environments/command.ts'
import { RlError } from '../errors.ts'

/** For all settings whose reward model writes unit tests. The drawing library is loaded only to draw. */
export const curves = defineCommand({
  help: `
rl coding curves RUN... [--out DIR]

Draws Code, UT, Detect and best of N of some runs as SVG files, and prints a table of them.

  --out DIR   folder to write into (docs/results)`,
  options: { out: { type: 'string', default: 'docs/results' } },
  positionals: true,
  async run({ values, positionals }) {
    if (positionals.length === 0)
      throw new RlError('curves needs at least one run', { code: 'cli.usage', hint: 'see --help' })
    const { codingCurves } = await import('./unit-test-curves.ts')
    process.stdout.write(codingCurves(positionals, values.out))
    return 0
  },
})
