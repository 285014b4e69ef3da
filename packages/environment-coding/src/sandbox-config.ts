/** The keys of the section `environment` that only this setting has. */
import type { z } from 'zod'
import type { ChooseOptions } from './choose.ts'
import { LANGUAGES, type Limits } from './provider.ts'

/** A limit that is null is the problem's own, or the default. */
export function codingKeys(zod: typeof z) {
  const count = zod.int().positive()
  const limits = zod
    .strictObject({
      cpuSeconds: zod.number().positive().nullable().default(null).describe('Processor time of a test.'),
      memoryMB: count.nullable().default(null).describe('Memory of all processes of a test together.'),
      processes: count.nullable().default(null).describe('Processes and threads at once.'),
      outputBytes: count.nullable().default(null).describe('Standard output of a test.'),
      fileMB: count.nullable().default(null).describe('Files of a test together.'),
    })
    .prefault({})
    .describe('Limits of a test. null: the problem’s own, or the default.')
  const expert = zod
    .strictObject({
      apiKeyEnv: zod
        .string()
        .nullable()
        .default(null)
        .describe('Environment variable that holds the server’s key. Keys are never in a config.'),
      python: zod
        .string()
        .nullable()
        .default(null)
        .describe('Python interpreter of bwrap. null: the system’s.'),
      cache: zod
        .string()
        .nullable()
        .default(null)
        .describe('Folder in which results are kept for other processes and runs.'),
      recheck: zod
        .number()
        .min(0)
        .max(1)
        .default(0.01)
        .describe(
          'Share of the programs, drawn by `environment.seed`, that is run twice. A program whose results differ is flaky, and counted.',
        ),
      executors: zod
        .int()
        .nonnegative()
        .nullable()
        .default(null)
        .describe(
          'Number of executor processes that the head starts to run programs (`npm start -- --role executor`, on any host). null: the roles that need programs run them.',
        ),
      limits,
    })
    .prefault({})
    .describe('Fine points that few runs change.')
  return {
    language: zod
      .enum(LANGUAGES)
      .default('python')
      .describe(
        'Language of the policy’s programs. Languages other than Python need problems from files, with standard input and output.',
      ),
    tests: count
      .nullable()
      .default(null)
      .describe('Number of tests to use of each problem read from files, drawn by `seed`. null: all.'),
    strengthen: zod
      .number()
      .min(0)
      .max(1)
      .nullable()
      .default(null)
      .describe(
        'Most share of single-fault mutants of a solution that may pass all tests. If more pass, a problem with a solution and standard input gets further tests, stored with the task. null: no further tests.',
      ),
    sandbox: zod
      .strictObject({
        provider: zod
          .string()
          .min(1)
          .default('auto')
          .describe(
            'Sandbox for programs: bwrap, pyodide, sandbox-fusion, gvisor, podman, docker, or one of `module`. `auto`: bwrap if it passes its self-test, else pyodide.',
          ),
        module: zod
          .string()
          .min(1)
          .nullable()
          .default(null)
          .describe('Path or package of a module with sandbox providers of your own.'),
        url: zod.string().nullable().default(null).describe('Address of a SandboxFusion server.'),
        image: zod.string().nullable().default(null).describe('Image with python3, for podman and docker.'),
        packages: zod
          .array(zod.string())
          .default([])
          .describe(
            'Folders with modules that programs may import, read only, e.g. of a virtual environment.',
          ),
        concurrency: count
          .nullable()
          .default(null)
          .describe('Programs at a time in a process. null: the provider’s.'),
        expert,
      })
      .prefault({})
      .describe('Where and how programs are run.'),
  }
}

export type CodingKeys = z.infer<z.ZodObject<ReturnType<typeof codingKeys>>>

/** @param seed by which the programs that are run twice are drawn */
export function chooseOptions({ sandbox }: CodingKeys, seed: number): ChooseOptions {
  const { provider, module, url, image, packages, concurrency } = sandbox
  const { apiKeyEnv, python, cache, recheck } = sandbox.expert
  return {
    provider,
    module,
    packages,
    url: url ?? undefined,
    apiKeyEnv: apiKeyEnv ?? undefined,
    image: image ?? undefined,
    python: python ?? undefined,
    concurrency: concurrency ?? undefined,
    cacheFolder: cache ?? undefined,
    recheck: { share: recheck, seed },
  }
}

/** Returns the limits that replace a problem's own. */
export function limitsIn({ sandbox }: CodingKeys): Partial<Limits> {
  const { cpuSeconds, ...others } = sandbox.expert.limits
  const named = { ...others, cpuMs: cpuSeconds === null ? null : cpuSeconds * 1000 }
  return Object.fromEntries(Object.entries(named).filter(([, value]) => value !== null))
}
