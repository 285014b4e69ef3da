/** The way of an answer through the trie of its choices: what is allowed next, and what its tokens say. */
import { type ChoiceNode, choiceTokens, choiceTrie } from './choices.ts'
import { closingMark, stringBody } from './open-places.ts'
import type { Tokenizer } from './tokenizer.ts'

/** A place on the way through a trie. */
export type ChoicePlace = {
  readonly node: ChoiceNode
  /** Written so far into the open string of the node, and its number of tokens. */
  readonly text: string
  readonly tokens: number
}

export function beginning(node: ChoiceNode): ChoicePlace {
  return { node, text: '', tokens: 0 }
}

export function isEnd({ node }: ChoicePlace): boolean {
  return node.allowed.length === 0 && node.string === null
}

/** Most tokens of an open string. */
const MOST_STRING_TOKENS = 256

/**
 * Returns the place behind a token. A string is closed by a quotation mark, by the end token, and at its most characters.
 * @param textOf returns the text of a token
 */
export function nextPlace(
  { node, text, tokens }: ChoicePlace,
  token: number,
  endToken: number | undefined,
  textOf: (token: number) => string,
): ChoicePlace {
  if (node.string === null) return beginning(itemOf(node, token))
  const { most, after } = node.string
  const whole = token === endToken ? text : text + textOf(token)
  const isClosed =
    token === endToken ||
    tokens + 1 >= MOST_STRING_TOKENS ||
    closingMark(whole) >= 0 ||
    // Characters of which a part is missing count as one.
    [...whole].length >= most
  return isClosed ? beginning(after) : { node, text: whole, tokens: tokens + 1 }
}

function itemOf({ children }: ChoiceNode, token: number): ChoiceNode {
  const next = children.get(token)
  if (next === undefined) throw new RangeError(`the token ${token} is not allowed here`)
  return next
}

/** Returns a function that goes on along the tokens of an answer, and gives the tokens that were allowed at each place. An empty list allows all. */
export function allowedAlong(
  root: ChoiceNode,
  { decode, endToken }: Pick<Tokenizer, 'decode' | 'endToken'>,
): (tokens: readonly number[]) => number[][] {
  const textOf = (token: number) => decode([token])
  let place = beginning(root)
  return (tokens) =>
    tokens.map((token) => {
      const allowed = Array.from(place.node.allowed)
      place = nextPlace(place, token, endToken, textOf)
      return allowed
    })
}

/** Returns the text of an answer whose choices have open strings. Whatever stands behind a closing mark in its token is dropped. */
export function textAlong(
  choices: readonly (readonly number[])[],
  tokens: Iterable<number>,
  tokenizer: Pick<Tokenizer, 'encode' | 'decode' | 'endToken'>,
): string {
  const { decode, endToken } = tokenizer
  let place = beginning(choiceTrie(choices, choiceTokens(tokenizer)))
  let text = ''
  let run: number[] = []
  for (const token of tokens) {
    const { node } = place
    place = nextPlace(place, token, endToken, (one) => decode([one]))
    if (node.string === null) {
      run.push(token)
      if (place.node.string === null) continue
      text += decode(run)
      run = []
      continue
    }
    if (token !== endToken) run.push(token)
    if (place.node === node) continue
    text += `${stringBody(decode(run), node.string.most)}"`
    run = []
  }
  const { string } = place.node
  return text + (string === null ? decode(run) : stringBody(decode(run), string.most))
}
