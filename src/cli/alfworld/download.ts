import { homedir } from 'node:os'
import { join } from 'node:path'
import { download } from '../../environments/alfworld/download.ts'
import { RlError } from '../../errors.ts'
import { type Command, parseCommandLine } from '../command.ts'

const RELEASES = 'https://github.com/alfworld/alfworld/releases/download'
const FILES: Readonly<Record<string, string>> = {
  games: `${RELEASES}/0.4.2/json_2.1.3_tw-pddl.zip`,
  json: `${RELEASES}/0.2.2/json_2.1.1_json.zip`,
  pddl: `${RELEASES}/0.2.2/json_2.1.1_pddl.zip`,
}

export const command: Command = {
  summary: 'fetch the official games',
  help: `
rl alfworld download [--file games|json|pddl] [--out DIR] [--sha256 HEX]

Fetches a file of the official ALFWorld releases and prints its path and SHA-256. The archive needs no unpacking:
give it as --data. Upstream publishes no checksums. So the first download is verified only where you give --sha256; its sum is
recorded in FILE.sha256, and later downloads must agree with it.

  --file games     json_2.1.3_tw-pddl.zip: all that is needed to play (default)
  --file json      json_2.1.1_json.zip: ALFRED's traj_data.json, for the original Python code
  --file pddl      json_2.1.1_pddl.zip: initial states, for making games with the original Python code
  --out DIR        where to put it (~/.cache/alfworld)
  --sha256 HEX     the sum that the file must have`,
  async run(argv) {
    const { values } = parseCommandLine(
      {
        options: {
          file: { type: 'string', default: 'games' },
          out: { type: 'string', default: join(homedir(), '.cache/alfworld') },
          sha256: { type: 'string' },
        },
      },
      argv,
    )
    const url = Object.hasOwn(FILES, values.file) ? FILES[values.file] : undefined
    if (url === undefined)
      throw new RlError(`--file is '${values.file}', expected ${Object.keys(FILES).join(', ')}`, {
        code: 'cli.usage',
      })
    const { path, sha256, trust } = await download(url, values.out, { sha256: values.sha256 })
    process.stdout.write(`${path}\nsha256 ${sha256}: ${trust}\n`)
    return 0
  },
}
