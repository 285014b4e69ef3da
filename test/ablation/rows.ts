import type { Row } from '../../src/ablation/row.ts'
import type { Setting } from '../../src/ablation/settings.ts'

/** A row whose figures are given; the rest does not matter. */
export function rowWith(
  setting: Setting,
  seed: number,
  from: number,
  to: number,
  more: Partial<Row> = {},
): Row {
  return {
    setting,
    seed,
    taskSeed: 9_000 + seed,
    run: `ablate-test-${setting.replaceAll('+', '-')}-s${seed}`,
    configDigest: 'c0ffee'.repeat(8),
    codeVersion: '0.1.0',
    seconds: 60,
    elapsedSeconds: null,
    processorSeconds: null,
    rollouts: 256,
    steps: null,
    costs: null,
    evaluations: [
      { iteration: 0, split: 'in-domain', successes: from, n: 100, steps: 12 },
      { iteration: 2, split: 'in-domain', successes: to, n: 100, steps: 11 },
    ],
    accuracy: [
      { iteration: 1, successes: from, n: 128 },
      { iteration: 2, successes: to, n: 128 },
    ],
    accepted: [],
    judge: [],
    confirmed: null,
    cooler: null,
    judges: null,
    staleness: null,
    writtenTests: null,
    ...more,
  }
}
