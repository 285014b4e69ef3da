/** The card of a dataset of trajectories: README.md with a head in YAML, as the hub reads it. */
import { stringify } from 'yaml'
import { columnLines } from '../column-words.ts'

export type CardSplit = { readonly name: string; readonly rows: number }

/** Bounds of the hub's words for sizes. */
const SIZES = [
  [1_000, 'n<1K'],
  [10_000, '1K<n<10K'],
  [100_000, '10K<n<100K'],
  [1_000_000, '100K<n<1M'],
  [10_000_000, '1M<n<10M'],
] as const

/** @param origin words about the run, as in the metadata of the shards */
export function datasetCard(origin: Readonly<Record<string, string>>, splits: readonly CardSplit[]): string {
  const rows = splits.reduce((sum, one) => sum + one.rows, 0)
  const head = {
    pretty_name: `Trajectories of the run ${origin['rlanything.run']}`,
    task_categories: ['reinforcement-learning'],
    size_categories: [SIZES.find(([most]) => rows < most)?.[1] ?? '10M<n<100M'],
    configs: [
      {
        config_name: 'default',
        data_files: splits.map(({ name }) => ({ split: name, path: `data/${name}-*.parquet` })),
      },
    ],
  }
  return `---
${stringify(head)}---

# ${head.pretty_name}

| origin | |
| --- | --- |
| run | \`${origin['rlanything.run']}\` |
| SHA-256 of its config | \`${origin['rlanything.config_digest']}\` |
| version of the code | \`${origin['rlanything.code_version']}\` |

| split | trajectories |
| --- | --- |
${splits.map(({ name, rows }) => `| ${name} | ${rows} |`).join('\n')}

## Columns

${columnLines().join('\n')}

A column is null if the log does not tell it. JSON stands as text.
`
}
