/** Keys of both trained models: who trains, log-probs, and where versions go. */
import { z } from 'zod'
import { readBy } from './readers.ts'
import { expert, positive, seconds, section } from './values.ts'

export const logprobs = z
  .enum(['model', 'sampling'])
  .default('model')
  .describe(
    'Temperature of logged and learned log-probs: 1 (`model`), or that of sampling (`sampling`, local models only). With `sampling`, importance weights fit what was sampled at any temperature.',
  )

export const trainer = z
  .enum(['own', 'external'])
  .default('own')
  .describe(
    'Who makes new versions: the worker (`own`), or a trainer outside that answers BatchReady within `run.deadlines.trainingSeconds`.',
  )

export const trainReasoning = readBy(
  'endpoint',
  z
    .boolean()
    .default(false)
    .describe('Whether reasoning that an endpoint tells apart from its answer is trained too.'),
)

export const publish = section({
  as: z
    .enum(['none', 'lora', 'model'])
    .default('none')
    .describe(
      'How new versions are loaded into the servers: not at all, as an adapter (`lora`), or as a whole folder (`model`).',
    ),
  routes: z
    .enum(['vllm', 'sglang'])
    .default('vllm')
    .describe(
      'Whose routes the servers have: those of vLLM and `rl serve`, or those of SGLang. On SGLang, a whole model replaces the weights.',
    ),
  replicas: z
    .array(z.url())
    .default([])
    .describe(
      'Base URLs of all servers of the model, in the form of `baseUrl`. An empty list means `baseUrl` alone.',
    ),
  expert: expert({
    ackSeconds: seconds
      .default(120)
      .describe('Longest time to load a version. A slower server is left out for this version.'),
    drainSeconds: seconds
      .default(120)
      .describe('Longest time that an old version waits for calls under way before it is unloaded.'),
    keep: positive.default(2).describe('Number of versions that stay loaded, the newest included.'),
  }),
}).describe('Bringing versions to servers that load weights at run time.')
