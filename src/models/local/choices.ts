import { RlError } from '../../errors.ts'

/** A node of the trie of allowed token sequences. */
export type ChoiceNode = {
  readonly children: ReadonlyMap<number, ChoiceNode>
  /** Allowed next tokens, ascending; a single one is forced. Empty at the end of a choice. */
  readonly allowed: Int32Array
}

type Building = { readonly children: Map<number, Building>; ends: boolean }

/**
 * The trie of `choices`. Where one choice is the beginning of another, ending there is a decision of its own: the end token
 * is allowed besides.
 * @throws RlError `model.choices` where there is nothing to choose, or such an end is needed and there is no end token.
 */
export function choiceTrie(
  choices: readonly (readonly number[])[],
  endToken: number | undefined,
): ChoiceNode {
  const root: Building = { children: new Map(), ends: false }
  for (const choice of choices) {
    if (choice.length === 0)
      throw new RlError('a choice is empty', { code: 'model.choices', hint: 'give each at least one token' })
    let node = root
    for (const token of choice) {
      let child = node.children.get(token)
      if (!child) {
        child = { children: new Map(), ends: false }
        node.children.set(token, child)
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
  return seal(root, endToken)
}

function seal({ children, ends }: Building, endToken: number | undefined): ChoiceNode {
  const sealed = new Map<number, ChoiceNode>()
  for (const [token, child] of children) sealed.set(token, seal(child, endToken))
  if (ends && sealed.size > 0) {
    if (endToken === undefined)
      throw new RlError('one choice is the beginning of another and the model has no end token', {
        code: 'model.choices',
        hint: 'let every choice end in a token of its own',
      })
    if (!sealed.has(endToken)) sealed.set(endToken, { children: new Map(), allowed: new Int32Array() })
  }
  return { children: sealed, allowed: Int32Array.from(sealed.keys()).sort() }
}
