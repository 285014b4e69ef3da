/** The adapter's worker: rewrites tasks, by the environment's rules or with a language model. */
import type { AdaptationConfig, RunConfig } from '../../config-schema/sections.ts'
import type { OpenSetting } from '../../environments/setting.ts'
import type { LogClient } from '../../events/log-client.ts'
import type { ModelProvider } from '../../models/provider.ts'
import { openTaskBook } from '../rollout/log-queries.ts'
import type { Worker } from '../runtime/worker.ts'
import { openLanguageRewriter } from './language-rewrite.ts'
import { rewriteTask } from './rewrite.ts'

export async function adapterWorker(
  adaptation: AdaptationConfig,
  provider: ModelProvider,
  deadlines: RunConfig['deadlines'],
  opened: OpenSetting,
  log: LogClient,
): Promise<Worker> {
  const { enabled, rewriter, low, high } = adaptation
  const tasks = openTaskBook(log)
  const language =
    enabled && rewriter === 'language-model'
      ? await openLanguageRewriter(adaptation, provider, deadlines, opened, log)
      : null
  return {
    shared: new Set(['rewrite']),
    concurrency: 4,
    jobs: {
      async rewrite(input, { signal }) {
        const parent = await tasks.find(input.parent)
        return [
          language
            ? await language.rewrite(parent, input, signal)
            : await rewriteTask(opened, parent, input, { low, high }),
        ]
      },
    },
    ...(language ? { counters: language.counters } : {}),
  }
}
