/** The trie of the token sequences of which an answer is one. */
import { RlError } from '../../errors.ts'
import { type NumberKind, type NumberTokens, numberTokens, placeOf } from './open-places.ts'
import type { Tokenizer } from './tokenizer.ts'

/** A node of the trie of allowed token sequences. */
export type ChoiceNode = {
  readonly children: ReadonlyMap<number, ChoiceNode>
  /** Allowed next tokens, ascending. A single token is forced. Empty at the end of a choice, and in an open string. */
  readonly allowed: Int32Array
  /** Set within a string that takes any token: `after` follows when the string is closed. */
  readonly string: { readonly most: number; readonly after: ChoiceNode } | null
}

type Building = {
  readonly children: Map<number, Building>
  allowed: Int32Array
  ends: boolean
  string: { readonly most: number; readonly after: Building } | null
}

/** Tokens with a meaning of their own in a trie. */
export type ChoiceTokens = {
  readonly end: number | undefined
  /** Null if the tokenizer has none. Then no choice may have the open place of a number. */
  readonly numbers: NumberTokens | null
}

export function choiceTokens(tokenizer: Pick<Tokenizer, 'encode' | 'decode' | 'endToken'>): ChoiceTokens {
  return { end: tokenizer.endToken, numbers: numberTokens(tokenizer) }
}

/**
 * Returns the trie of `choices`. If one choice is the beginning of another, its end is a decision of its own: the end token is also
 * allowed.
 * @throws RlError `model.choices` if there is no choice, or if an end token is needed and the model has none
 */
export function choiceTrie(
  choices: readonly (readonly number[])[],
  { end: endToken, numbers }: ChoiceTokens,
): ChoiceNode {
  const root = building()
  const nodes = [root]
  for (const choice of choices) {
    if (choice.length === 0)
      throw new RlError('a choice is empty', { code: 'model.choices', hint: 'give each at least one token' })
    let node = root
    for (const token of choice) {
      let child = node.children.get(token)
      if (!child) {
        child = building()
        node.children.set(token, child)
        nodes.push(child)
      }
      node = child
    }
    node.ends = true
  }
  if (root.children.size === 0)
    throw new RlError('the list of choices is empty', {
      code: 'model.choices',
      hint: 'leave it out for free text',
    })
  // One by one, without recursion: a choice may be longer than the stack is deep.
  for (const node of [...nodes]) nodes.push(...open(node, numbers))
  for (const node of nodes) seal(node, endToken)
  return root
}

function building(): Building {
  return { children: new Map(), allowed: new Int32Array(), ends: false, string: null }
}

function seal(node: Building, endToken: number | undefined): void {
  const { children, ends } = node
  if (ends && children.size > 0) {
    if (endToken === undefined)
      throw new RlError('one choice is the beginning of another and the model has no end token', {
        code: 'model.choices',
        hint: 'let every choice end in a token of its own',
      })
    if (!children.has(endToken)) children.set(endToken, building())
  }
  node.allowed = Int32Array.from(children.keys()).sort()
}

/**
 * Puts the tokens of an open place into its node, and returns the nodes that it made. A string hides choices beside it: it takes
 * their tokens too.
 */
function open(node: Building, numbers: NumberTokens | null): readonly Building[] {
  const made: Building[] = []
  for (const [code, after] of [...node.children]) {
    if (code >= 0) continue
    const place = placeOf(code)
    node.children.delete(code)
    if (place.kind === 'string') {
      node.children.clear()
      node.string = { most: place.most, after }
      return []
    }
    if (numbers === null)
      throw new RlError('the tokenizer has no tokens of digits', {
        code: 'model.choices',
        hint: 'give the numbers as a list',
      })
    for (const [token, next] of numberChildren(place, after, numbers, made)) node.children.set(token, next)
  }
  return made
}

const MOST_DIGITS = 15
const MOST_DECIMALS = 6

/** Returns the first tokens of a number, each with what may follow. Behind the number `after` goes on. */
function numberChildren(
  { sign, zero, fraction }: NumberKind,
  after: Building,
  { digits, minus, point }: NumberTokens,
  made: Building[],
): Map<number, Building> {
  function place(children: Iterable<readonly [number, Building]>, ends: boolean): Building {
    const one = { ...building(), children: new Map([...children, ...(ends ? after.children : [])]) }
    one.ends = ends && after.ends
    made.push(one)
    return one
  }
  function row(length: number, more: Iterable<readonly [number, Building]>): Building {
    let last = place(more, true)
    for (let left = length - 1; left > 0; left--)
      last = place([...digits.map((token) => [token, last] as const), ...more], true)
    return last
  }
  const decimals = row(MOST_DECIMALS, [])
  const behindPoint = place(
    digits.map((token) => [token, decimals]),
    false,
  )
  const points: readonly (readonly [number, Building])[] = fraction ? [[point, behindPoint]] : []
  const behindFirst = row(MOST_DIGITS, points)
  const behindZero = place(points, true)
  const first = digits.flatMap((token, digit) =>
    digit > 0 ? [[token, behindFirst] as const] : zero ? [[token, behindZero] as const] : [],
  )
  const behindSign = place(
    first.filter(([, next]) => fraction || next !== behindZero),
    false,
  )
  return new Map<number, Building>([...first, ...(sign ? [[minus, behindSign] as const] : [])])
}
