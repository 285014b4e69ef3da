import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { wholeNumber } from '../../../command-line.ts'
import { explain, RlError } from '../../../errors.ts'
import { textOf } from '../../../text-file.ts'
import { type Dataset, openDataset, readGameText } from '../dataset.ts'
import { type Game, loadGame } from '../game.ts'
import { type Mismatch, parseTranscript, type Transcript, verifyTranscript } from '../transcript.ts'

export async function verify(
  values: { readonly data?: string; readonly show: string },
  transcripts: readonly string[],
): Promise<number> {
  if (values.data === undefined || transcripts.length === 0)
    throw new RlError('--data and at least one transcript are needed', {
      code: 'cli.usage',
      hint: 'see --help',
    })
  const show = wholeNumber('--show', values.show)
  const dataset = await openDataset(values.data)
  const counts = { episodes: 0, steps: 0, mismatches: 0 }
  const report = (mismatch: Mismatch, transcript: Transcript) => {
    if (counts.mismatches++ < show) process.stdout.write(`${formatMismatch(mismatch, transcript)}\n`)
  }
  for (const path of transcripts) {
    const gameOf = rememberLast((game) => findGame(game, path, dataset))
    for (const transcript of await readTranscripts(path)) {
      counts.episodes++
      counts.steps += transcript.steps.length
      try {
        for (const mismatch of verifyTranscript(await gameOf(transcript.game), transcript))
          report(mismatch, transcript)
      } catch (error) {
        report({ step: 0, field: 'game', expected: 'a game', got: explain(error) }, transcript)
      }
    }
  }
  const { episodes, steps, mismatches } = counts
  process.stdout.write(`episodes=${episodes} steps=${steps} mismatches=${mismatches}\n`)
  return mismatches > 0 ? 1 : 0
}

async function readTranscripts(path: string): Promise<Transcript[]> {
  const text = await readFile(path)
    .then((data) => textOf(path.endsWith('.gz') ? gunzipSync(data) : data, path))
    .catch((cause) => {
      if (cause instanceof RlError) throw cause
      throw new RlError(`${path} cannot be read: ${explain(cause)}`, { code: 'alfworld.transcript', cause })
    })
  return text
    .split('\n')
    .map((line, i) => ({ line, place: `${path}, line ${i + 1}` }))
    .filter(({ line }) => line.trim() !== '')
    .map(({ line, place }) => parseTranscript(line, place))
}

/** Finds the game of a recorded path: in the data set, below the transcript's folder, or below its parent. */
async function findGame(game: string, transcript: string, dataset: Dataset): Promise<Game> {
  const entry = dataset.find(game)
  if (entry) return loadGame(await entry.read(), game)
  const folder = dirname(transcript)
  for (const base of [folder, join(folder, '..'), '.'])
    for (const suffix of ['', '.gz']) {
      const text = await readGameText(join(base, game + suffix)).catch(() => null)
      if (text !== null) return loadGame(text, game)
    }
  throw new RlError(`the game is neither in ${dataset.root} nor beside the transcript`, {
    code: 'alfworld.no-data',
    hint: '--data must hold the game at this path, with or without json_2.1.1/ and .gz',
  })
}

/** Episodes of a game follow each other, so the last game is kept. */
function rememberLast(load: (name: string) => Promise<Game>): (name: string) => Promise<Game> {
  let last: { readonly name: string; readonly game: Game } | undefined
  return async (name) => {
    if (last?.name !== name) last = { name, game: await load(name) }
    return last.game
  }
}

function formatMismatch({ step, field, expected, got }: Mismatch, { game, kind, steps }: Transcript): string {
  const lines = [
    `${game} (${kind}), step ${step}, command ${JSON.stringify(steps[step]?.cmd ?? null)}: ${field} differs`,
  ]
  if (Array.isArray(expected) && Array.isArray(got)) {
    const [there, here] = [new Set(expected), new Set(got)]
    const missing = expected.filter((item) => !here.has(item))
    const extra = got.filter((item) => !there.has(item))
    if (missing.length) lines.push(`  only recorded: ${JSON.stringify(missing)}`)
    if (extra.length) lines.push(`  only here:     ${JSON.stringify(extra)}`)
    if (!missing.length && !extra.length) lines.push('  the same entries in another order or number')
  } else lines.push(`  recorded: ${JSON.stringify(expected)}`, `  here:     ${JSON.stringify(got)}`)
  return lines.join('\n')
}
