/** The tokens of a step. The line below one is the stronger, the less likely it was. */
import type { TokenRow } from '../../logic/answers.ts'
import { count, visible } from '../../logic/format.ts'
import { shadeOf } from '../../logic/playback.ts'

/** A program has thousands of tokens. The rest is in the event. */
const MOST = 600

export function Tokens({ tokens }: { tokens: readonly TokenRow[] }) {
  if (tokens.length === 0) return null
  const left = tokens.length - MOST
  return (
    <ul class="tokens" aria-label="tokens">
      {tokens.slice(0, MOST).map((token, i) => (
        <Token key={i} token={token} />
      ))}
      {left > 0 && <li class="muted">{count(left)} tokens more</li>}
    </ul>
  )
}

function Token({ token: { id, text, logprob, allowed } }: { token: TokenRow }) {
  const shown = text === null ? String(id) : visible(text).replaceAll('\n', '⏎').replaceAll('\t', '⇥')
  const chance =
    logprob === null
      ? 'not sampled: it was the only one allowed, or is not trained'
      : `log-prob ${logprob.toFixed(3)}, probability ${Math.exp(logprob).toFixed(3)}`
  const of = allowed === null ? '' : `, ${count(allowed)} allowed`
  return (
    <li
      class={logprob === null ? 'token forced' : `token s${shadeOf(logprob)}`}
      title={`token ${id}: ${chance}${of}`}
    >
      {shown === '' ? '∅' : shown}
    </li>
  )
}
