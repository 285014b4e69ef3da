/** Digests of all files of a checkpoint, in a file beside them. So a missing or damaged file can be named. */
import { createHash } from 'node:crypto'
import { createReadStream, existsSync, statSync } from 'node:fs'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { RlError } from '../../errors.ts'

export const FILE_DIGESTS = 'digests.json'

const schema = z.record(z.string().regex(/^[\w.-]+$/), z.string().regex(/^[0-9a-f]{64}$/))

/** @param known SHA-256 (hex) of files that need no second reading */
export async function writeFileDigests(folder: string, known: ReadonlyMap<string, string>): Promise<void> {
  const digests: Record<string, string> = {}
  for (const name of (await readdir(folder)).sort())
    if (statSync(join(folder, name)).isFile())
      digests[name] = known.get(name) ?? (await digestOf(join(folder, name)))
  await writeFile(join(folder, FILE_DIGESTS), `${JSON.stringify(digests, null, 2)}\n`)
}

/**
 * Folders from before, and from other programs, have no such file. Then nothing is checked.
 * @throws RlError `model.corrupt` with the name of the first file that is missing or has changed
 */
export async function checkFileDigests(folder: string): Promise<void> {
  const path = join(folder, FILE_DIGESTS)
  if (!existsSync(path)) return
  for (const [name, digest] of Object.entries(await readDigests(path))) {
    const file = join(folder, name)
    const fault = existsSync(file) ? ((await digestOf(file)) === digest ? null : 'damaged') : 'missing'
    if (fault !== null)
      throw new RlError(`${file} is ${fault}`, {
        code: 'model.corrupt',
        hint: 'restore the folder from a copy of the run',
      })
  }
}

async function readDigests(path: string): Promise<Readonly<Record<string, string>>> {
  try {
    return schema.parse(JSON.parse(await readFile(path, 'utf8')))
  } catch (cause) {
    throw new RlError(`${path} is damaged`, {
      code: 'model.corrupt',
      hint: 'restore the folder from a copy of the run',
      cause,
    })
  }
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 })) hash.update(chunk)
  return hash.digest('hex')
}
