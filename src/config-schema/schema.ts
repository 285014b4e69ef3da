/** Every key of a run's configuration, with its default and its meaning. docs/config.md is generated from here. */
import { z } from 'zod'
import { adaptation } from './adaptation.ts'
import { environmentSection } from './environment.ts'
import { evaluation } from './evaluation.ts'
import { learning } from './learning.ts'
import { models, projections, simulation, ui } from './others.ts'
import { policy } from './policy.ts'
import { rewardModel } from './reward-model.ts'
import { run } from './run.ts'
import { positive } from './values.ts'

export const configSchema = z.strictObject({
  run,
  environment: environmentSection({}),
  policy,
  rewardModel,
  models,
  learning,
  adaptation,
  evaluation,
  backend: z
    .enum(['auto', 'tensorflow-gpu', 'tensorflow', 'webgpu', 'wasm-blas', 'wasm', 'cpu'])
    .default('auto')
    .describe('Tensor backend: `auto`, or one that must be used, e.g. `wasm`.'),
  threads: positive
    .default(1)
    .describe(
      'Number of threads of the native BLAS of each local model. More are worth it from some 100 million parameters. Sums differ in their last digits.',
    ),
  projections,
  simulation,
  ui,
})

type DeepReadonly<T> = T extends readonly (infer Item)[]
  ? number extends T['length']
    ? readonly DeepReadonly<Item>[]
    : { readonly [K in keyof T]: DeepReadonly<T[K]> }
  : T extends object
    ? { readonly [K in keyof T]: DeepReadonly<T[K]> }
    : T

export type Config = DeepReadonly<z.output<typeof configSchema>>
