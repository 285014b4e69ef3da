/** What is known of two success rates: of a task and of its candidate, as curves over [0, 1]. */
import { share } from '../../logic/format.ts'
import type { Posterior } from '../../logic/tasks-page.ts'

const [WIDTH, HEIGHT, BASE] = [560, 130, 104]

type PosteriorsProps = {
  readonly parent: Posterior
  readonly candidate: Posterior
  readonly thresholds: { readonly low: number; readonly high: number }
  readonly direction: 'harder' | 'easier'
}

export function Posteriors({ parent, candidate, thresholds, direction }: PosteriorsProps) {
  const most = Math.max(...parent.density, ...candidate.density)
  const line = ({ density }: Posterior) =>
    density
      .map((value, i) => `${((i + 0.5) / density.length) * WIDTH},${BASE - (value / most) * (BASE - 10)}`)
      .join(' ')
  const [from, to] = direction === 'harder' ? [thresholds.low, 1] : [0, thresholds.high]
  const limit = direction === 'harder' ? thresholds.low : thresholds.high
  const words = ({ low, high }: Posterior) => `between ${share(low)} and ${share(high)}`
  return (
    <figure class="chart">
      <figcaption class="legend-line">
        <span class="c2">● old task: {words(parent)}</span>
        <span class="c1">■ new task: {words(candidate)}</span>
        <span>with 95 % probability</span>
      </figcaption>
      <svg
        class="posterior"
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="img"
        aria-label={`success rate of the old task ${words(parent)}, of the new task ${words(candidate)}; limit ${share(limit)}`}
      >
        <rect class="allowed" x={from * WIDTH} y={0} width={(to - from) * WIDTH} height={BASE} />
        <line class="base" x1={0} x2={WIDTH} y1={BASE} y2={BASE} />
        <line class="limit-line" x1={limit * WIDTH} x2={limit * WIDTH} y1={0} y2={BASE} />
        <g class="c2">
          <polyline class="line dashed" points={line(parent)} />
        </g>
        <g class="c1">
          <polyline class="line" points={line(candidate)} />
        </g>
        {[0, 0.2, 0.4, 0.6, 0.8, 1].map((value) => (
          <text
            key={value}
            x={Math.min(WIDTH - 2, Math.max(2, value * WIDTH))}
            y={HEIGHT - 10}
            text-anchor={value === 0 ? 'start' : value === 1 ? 'end' : 'middle'}
          >
            {share(value)}
          </text>
        ))}
      </svg>
    </figure>
  )
}
