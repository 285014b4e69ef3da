/** A chart of curves with bands, as SVG. It is also a table, and can be kept as CSV or SVG. */
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { short } from '../../logic/format.ts'
import { csvOf, ticksOf, wholeTicks } from '../../logic/scale.ts'
import { go } from '../place.ts'

type Point = {
  readonly x: number
  readonly y: number
  readonly low?: number
  readonly high?: number
  /** Where a click leads. */
  readonly href?: string
  /** What is said of the point beside its figures. */
  readonly note?: string
}

export type Series = {
  readonly name: string
  /** 1 to 7: a colour and a glyph. */
  readonly colour: number
  readonly points: readonly Point[]
  /** Points alone, e.g. held-out measurements far apart. */
  readonly dots?: boolean
  readonly dashed?: boolean
}

export type ChartProps = {
  readonly title: string
  readonly series: readonly Series[]
  /** Limits of y. Left out: those of the points. */
  readonly range?: readonly [low: number, high: number]
  readonly x?: string
  readonly format?: (value: number) => string
  /** Lines across, e.g. a limit of the KL divergence. */
  readonly lines?: readonly { readonly y: number; readonly name: string }[]
  readonly height?: number
}

const PAD = { left: 44, right: 12, top: 10, bottom: 24 }
const GLYPHS = ['', '●', '■', '▲', '◆', '▼', '○', '□']

export function Chart({
  title,
  series,
  range,
  x: xName = 'iteration',
  format = short,
  lines = [],
  height = 170,
}: ChartProps) {
  const box = useRef<HTMLDivElement>(null)
  const width = useSignal(480)
  const near = useSignal<number | null>(null)
  const isTable = useSignal(false)
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => {
      width.value = Math.max(200, Math.round(entry.contentRect.width))
    })
    if (box.current) observer.observe(box.current)
    return () => observer.disconnect()
  }, [])

  const points = series.flatMap((one) => one.points)
  const xs = points.map(({ x }) => x)
  const low = Math.min(...points.map((point) => point.low ?? point.y), ...lines.map(({ y }) => y))
  const high = Math.max(...points.map((point) => point.high ?? point.y), ...lines.map(({ y }) => y))
  const y = ticksOf(range?.[0] ?? low, range?.[1] ?? high, 4)
  const [left, right] = [Math.min(...xs), Math.max(...xs)]
  const toX = (value: number) =>
    PAD.left + ((value - left) / Math.max(1e-9, right - left || 1)) * (width.value - PAD.left - PAD.right)
  const toY = (value: number) =>
    PAD.top +
    (1 - (Math.max(y.low, Math.min(y.high, value)) - y.low) / (y.high - y.low)) *
      (height - PAD.top - PAD.bottom)

  const atX = [...new Set(xs)].sort((a, b) => a - b)
  const describe = series
    .filter((one) => one.points.length > 0)
    .map(
      (one) =>
        `${one.name} from ${format(one.points[0].y)} to ${format(one.points[one.points.length - 1].y)}`,
    )
    .join(', ')

  function onMove(event: MouseEvent & { currentTarget: SVGSVGElement }): void {
    const rect = event.currentTarget.getBoundingClientRect()
    const px = ((event.clientX - rect.left) / rect.width) * width.value
    near.value = atX.reduce<number | null>(
      (best, value) => (best === null || Math.abs(toX(value) - px) < Math.abs(toX(best) - px) ? value : best),
      null,
    )
  }

  function onClick(): void {
    const href = series
      .flatMap((one) => one.points)
      .find((point) => point.x === near.value && point.href)?.href
    if (href) go(href)
  }

  const shown = near.value
  return (
    <figure class="chart">
      <figcaption>
        <span class="title">{title}</span>
        <span class="legend">
          {series.map((one) => (
            <span key={one.name} class={`name c${one.colour}`}>
              <span aria-hidden="true">{GLYPHS[one.colour]}</span> {one.name}
            </span>
          ))}
        </span>
        <span class="tools">
          <button
            type="button"
            class="quiet"
            aria-pressed={isTable.value}
            onClick={() => (isTable.value = !isTable.value)}
          >
            table
          </button>
          <button
            type="button"
            class="quiet"
            onClick={() => keep(`${title}.csv`, 'text/csv', csvOf(...tableOf(series, xName)))}
          >
            CSV
          </button>
          <button type="button" class="quiet" onClick={() => keepSvg(box.current, title)}>
            SVG
          </button>
        </span>
      </figcaption>
      {isTable.value ? (
        <ChartTable series={series} x={xName} format={format} />
      ) : (
        <div ref={box} class="plot">
          {points.length === 0 ? (
            <p class="empty">nothing measured yet</p>
          ) : (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the table has the same links
            <svg
              viewBox={`0 0 ${width.value} ${height}`}
              height={height}
              role="img"
              aria-label={`${title}: ${describe}`}
              onMouseMove={onMove}
              onMouseLeave={() => (near.value = null)}
              onClick={onClick}
              class={points.some(({ href }) => href) ? 'clickable' : ''}
            >
              {y.ticks.map((tick) => (
                <g key={tick} class="axis">
                  <line x1={PAD.left} x2={width.value - PAD.right} y1={toY(tick)} y2={toY(tick)} />
                  <text x={PAD.left - 6} y={toY(tick) + 4} text-anchor="end">
                    {format(tick)}
                  </text>
                </g>
              ))}
              {wholeTicks(left, right).map((tick) => (
                <text key={tick} class="axis-label" x={toX(tick)} y={height - 8} text-anchor="middle">
                  {tick}
                </text>
              ))}
              {lines.map((line) => (
                <g key={line.name} class="limit">
                  <line x1={PAD.left} x2={width.value - PAD.right} y1={toY(line.y)} y2={toY(line.y)} />
                  <text x={width.value - PAD.right} y={toY(line.y) - 4} text-anchor="end">
                    {line.name}
                  </text>
                </g>
              ))}
              {series.map((one) => (
                <Curve key={one.name} series={one} toX={toX} toY={toY} />
              ))}
              {shown !== null && (
                <line class="near" x1={toX(shown)} x2={toX(shown)} y1={PAD.top} y2={height - PAD.bottom} />
              )}
            </svg>
          )}
          {shown !== null && (
            <Tip series={series} x={shown} name={xName} format={format} left={toX(shown) / width.value} />
          )}
        </div>
      )}
    </figure>
  )
}

type Placed = { series: Series; toX: (value: number) => number; toY: (value: number) => number }

function Curve({ series, toX, toY }: Placed) {
  const { points, colour, dots = false, dashed = false } = series
  const banded = points.filter(({ low, high }) => low !== undefined && high !== undefined)
  const band = [
    ...banded.map((point) => `${toX(point.x)},${toY(point.high ?? point.y)}`),
    ...banded.toReversed().map((point) => `${toX(point.x)},${toY(point.low ?? point.y)}`),
  ].join(' ')
  const line = points.map((point) => `${toX(point.x)},${toY(point.y)}`).join(' ')
  return (
    <g class={`c${colour}`}>
      {banded.length > 1 && !dots && <polygon class="band" points={band} />}
      {!dots && <polyline class={dashed ? 'line dashed' : 'line'} points={line} />}
      {dots &&
        banded.map((point) => (
          <line
            key={point.x}
            class="whisker"
            x1={toX(point.x)}
            x2={toX(point.x)}
            y1={toY(point.low ?? point.y)}
            y2={toY(point.high ?? point.y)}
          />
        ))}
      {(dots || points.length < 80) &&
        points.map((point) => (
          <circle key={point.x} cx={toX(point.x)} cy={toY(point.y)} r={dots ? 3.5 : 2.2} />
        ))}
    </g>
  )
}

type TipProps = {
  series: readonly Series[]
  x: number
  name: string
  format: (value: number) => string
  left: number
}

function Tip({ series, x, name, format, left }: TipProps) {
  return (
    <div
      class="tip"
      style={{
        left: left > 0.6 ? 'auto' : `${left * 100}%`,
        right: left > 0.6 ? `${(1 - left) * 100}%` : 'auto',
      }}
    >
      <strong>
        {name} {x}
      </strong>
      {series.map((one) => {
        const point = one.points.find((each) => each.x === x)
        if (!point) return null
        return (
          <div key={one.name} class={`c${one.colour}`}>
            {one.name} {format(point.y)}
            {point.low !== undefined &&
              point.high !== undefined &&
              ` [${format(point.low)}, ${format(point.high)}]`}
            {point.note !== undefined && <span class="note"> {point.note}</span>}
          </div>
        )
      })}
    </div>
  )
}

function tableOf(series: readonly Series[], xName: string): [string[], (number | null)[][]] {
  const xs = [...new Set(series.flatMap((one) => one.points.map(({ x }) => x)))].sort((a, b) => a - b)
  const head = [xName, ...series.flatMap((one) => [one.name, `${one.name} low`, `${one.name} high`])]
  const rows = xs.map((x) => [
    x,
    ...series.flatMap((one) => {
      const point = one.points.find((each) => each.x === x)
      return [point?.y ?? null, point?.low ?? null, point?.high ?? null]
    }),
  ])
  return [head, rows]
}

function ChartTable({
  series,
  x,
  format,
}: {
  series: readonly Series[]
  x: string
  format: (value: number) => string
}) {
  const xs = [...new Set(series.flatMap((one) => one.points.map((point) => point.x)))].sort((a, b) => a - b)
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: arrows scroll it
    <section class="scroll" aria-label="the chart as a table" tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col">{x}</th>
            {series.map((one) => (
              <th scope="col" key={one.name}>
                {one.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {xs.map((at) => (
            <tr key={at} data-row>
              <th scope="row">
                {(() => {
                  const href = series
                    .flatMap((one) => one.points)
                    .find((point) => point.x === at && point.href)?.href
                  return href ? <a href={href}>{at}</a> : at
                })()}
              </th>
              {series.map((one) => {
                const point = one.points.find((each) => each.x === at)
                return (
                  <td key={one.name}>
                    {point ? format(point.y) : ''}
                    {point?.low !== undefined && point.high !== undefined
                      ? ` [${format(point.low)}, ${format(point.high)}]`
                      : ''}
                  </td>
                )
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

/** Offers text as a file of the browser. */
export function keep(name: string, type: string, text: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([text], { type }))
  link.download = name.replace(/[^\w.-]+/g, '-')
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 1_000)
}

/** Keeps the picture with the colours that it has on the screen. */
function keepSvg(box: HTMLElement | null, title: string): void {
  const svg = box?.querySelector('svg')
  if (!svg) return
  const copy = svg.cloneNode(true) as SVGElement
  copy.setAttribute('xmlns', 'http://www.w3.org/2000/svg')
  const own = svg.querySelectorAll('*')
  for (const [i, element] of copy.querySelectorAll('*').entries()) {
    const style = getComputedStyle(own[i])
    for (const property of [
      'fill',
      'stroke',
      'stroke-width',
      'fill-opacity',
      'font-size',
      'font-family',
      'stroke-dasharray',
    ])
      element.setAttribute(property, style.getPropertyValue(property))
  }
  keep(`${title}.svg`, 'image/svg+xml', new XMLSerializer().serializeToString(copy))
}

/** A small curve without axes. */
export function Sparkline({ values, label }: { values: readonly number[]; label: string }) {
  if (values.length < 2) return <span class="muted">–</span>
  const [width, height] = [90, 20]
  const line = values
    .map(
      (value, i) =>
        `${(i / (values.length - 1)) * (width - 2) + 1},${(1 - Math.max(0, Math.min(1, value))) * (height - 2) + 1}`,
    )
    .join(' ')
  return (
    <svg
      class="spark c1"
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      role="img"
      aria-label={label}
    >
      <polyline class="line" points={line} />
    </svg>
  )
}
