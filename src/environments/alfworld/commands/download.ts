import { join } from 'node:path'
import { RlError } from '../../../errors.ts'
import { homeFolder } from '../../../package.ts'
import { download } from '../download.ts'

const RELEASES = 'https://github.com/alfworld/alfworld/releases/download'
const FILES: Readonly<Record<string, string>> = {
  games: `${RELEASES}/0.4.2/json_2.1.3_tw-pddl.zip`,
  json: `${RELEASES}/0.2.2/json_2.1.1_json.zip`,
  pddl: `${RELEASES}/0.2.2/json_2.1.1_pddl.zip`,
}

export async function downloadRelease(values: {
  readonly file: string
  readonly out?: string
  readonly sha256?: string
}): Promise<number> {
  const url = Object.hasOwn(FILES, values.file) ? FILES[values.file] : undefined
  if (url === undefined)
    throw new RlError(`--file is '${values.file}', expected ${Object.keys(FILES).join(', ')}`, {
      code: 'cli.usage',
    })
  const { path, sha256, trust } = await download(url, values.out ?? defaultFolder(), {
    sha256: values.sha256,
  })
  process.stdout.write(`${path}\nsha256 ${sha256}: ${trust}\n`)
  return 0
}

/** Folder in which the original code looks for its data. */
function defaultFolder(): string {
  return join(homeFolder('without --out there is no folder to download to'), '.cache', 'alfworld')
}
