/** A decider's machine as a chart: its states and the transitions that leave them. For docs and for naming a decision. */
import type { AnyStateMachine, AnyStateNode, AnyTransitionDefinition } from 'xstate'

/** Returns all states of a machine, each before its inner states. */
export function statesOf({ root }: AnyStateMachine): AnyStateNode[] {
  return below(root)
}

function below(node: AnyStateNode): AnyStateNode[] {
  return Object.values(node.states as Record<string, AnyStateNode>).flatMap((child) => [
    child,
    ...below(child),
  ])
}

/** Returns the transitions of one state. Transitions by events come first. */
export function transitionsOf(node: AnyStateNode): AnyTransitionDefinition[] {
  return [...[...node.transitions.values()].flat(), ...(node.always ?? [])]
}

/** A transition in words, e.g. `serving.settling: always -> playing [candidateProven] / acceptCandidate`. */
export function describe(transition: AnyTransitionDefinition): string {
  const { eventType, source, target, guard } = transition
  const on = eventType === '' ? 'always' : `on ${eventType}`
  const goal = target?.map(({ key }) => key).join(', ')
  const does = actionsOf(transition).join(', ')
  return [
    `${source.path.join('.') || source.key}: ${on}`,
    goal ? ` -> ${goal}` : '',
    guard ? ` [${nameOf(guard)}]` : '',
    does === '' ? '' : ` / ${does}`,
  ].join('')
}

/** Names of a transition's actions, in order. */
export function actionsOf({ actions }: AnyTransitionDefinition): string[] {
  return actions.map(nameOf)
}

function nameOf(part: unknown): string {
  if (typeof part === 'string') return part
  return typeof part === 'object' && part !== null && 'type' in part ? String(part.type) : 'unnamed'
}
