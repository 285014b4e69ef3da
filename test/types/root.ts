/** Types of `rlanything` and `rlanything/kit`. `tsc --noEmit` is the test: an expected error that does not come is an error. */
import { type Config, loadConfig, openLogReader, RlError } from 'rlanything'
import { callWithin, openRegistry } from 'rlanything/kit'

const config: Config = loadConfig({ set: ['run.seed=1'] })

// @ts-expect-error a config cannot be changed
config.run.seed = 2

// @ts-expect-error a section that does not exist
config.reward

// @ts-expect-error settings are a list of `key=value`
loadConfig({ set: { 'run.seed': 1 } })

for (const { data } of openLogReader('log.sqlite').events({ types: ['PolicyUpdated'] })) {
  const version: number = data.version
  // @ts-expect-error the data of another event
  if (version > 1) data.rollout
}

// @ts-expect-error an error has a code
new RlError('it broke', {})

// @ts-expect-error a registry says what its parts do
openRegistry({ kind: 'ruler', noun: 'a ruler', ours: [], key: 'rulers', list: 'rulers', types: 'own' })

callWithin(
  { file: 'rule.ts', part: 'rule', code: 'rule.failed', hint: 'mend it' },
  { ms: 100, key: 'rules.ms' },
  () => 1,
  // @ts-expect-error a check says what is wrong, or null
  (value) => value === 1,
)
