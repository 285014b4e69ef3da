import { RlError } from '../../errors.ts'

/** A node of the trie of allowed token sequences. */
export type ChoiceNode = {
  readonly children: ReadonlyMap<number, ChoiceNode>
  /** Allowed next tokens, ascending. A single one is forced. Empty at the end of a choice. */
  readonly allowed: Int32Array
}

type Building = { readonly children: Map<number, Building>; allowed: Int32Array; ends: boolean }

/**
 * Builds the trie of `choices`. If one choice is the start of another, its end is a decision of its own. Then the end
 * token is allowed too.
 * @throws RlError `model.choices` if there are no choices, or if such a decision needs an end token and there is none
 */
export function choiceTrie(
  choices: readonly (readonly number[])[],
  endToken: number | undefined,
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
  // No recursion, because a choice may be longer than the stack is deep.
  for (const node of nodes) seal(node, endToken)
  return root
}

function building(): Building {
  return { children: new Map(), allowed: new Int32Array(), ends: false }
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
