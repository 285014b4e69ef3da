/** The lineage of a version that is a text: its choice, the verdict before it, and the proposals. */
import type { LoggedEvent } from '../events/catalogue.ts'
import type { LogReader } from '../events/log-reader.ts'
import { type Node, node } from './tree.ts'

/** Returns nothing if the policy does not learn by instructions. */
export function instructionNodes(
  log: LogReader,
  version: number,
  placed: (event: LoggedEvent) => Node['facts'],
): Node[] {
  const chosen = log.byKey(`InstructionsChosen/${version}`)
  if (chosen?.type !== 'InstructionsChosen') return []
  const { member, best, system, lessons, population, tries, ended } = chosen.data
  const text = [system, ...lessons.map((lesson) => `- ${lesson}`)].filter((line) => line !== '').join('\n')
  const proposal = member === 0 ? null : log.byKey(`InstructionsProposed/${member}`)
  const weighed = log.byKey(`InstructionsWeighed/${version}`)
  const proposals = [...log.events({ types: ['InstructionsProposed'] })].filter(
    ({ data }) => data.version === version,
  )
  return [
    node(
      `text of ${member === 0 ? 'the start' : `proposal ${member}`}${member === best ? ', the best' : ''}`,
      {
        text: text === '' ? '(none)' : text,
        members: population.map(({ member: id, rounds }) => `${id} after ${rounds} rounds`).join(', '),
        tries,
        ended,
        ...placed(chosen),
      },
      proposal?.type === 'InstructionsProposed' ? [proposalNode(proposal, placed)] : [],
    ),
    ...(weighed?.type === 'InstructionsWeighed' ? [weighedNode(weighed, placed)] : []),
    ...proposals.map((one) => proposalNode(one, placed)),
  ]
}

function proposalNode(
  event: LoggedEvent<'InstructionsProposed'>,
  placed: (event: LoggedEvent) => Node['facts'],
): Node {
  const { number, version, parent, model, change, problem } = event.data
  return node(`proposal ${number}, for version ${version}`, {
    'change of': parent === 0 ? 'the start' : `proposal ${parent}`,
    change: change === null ? null : JSON.stringify(change),
    problem,
    model,
    ...placed(event),
  })
}

function weighedNode(
  event: LoggedEvent<'InstructionsWeighed'>,
  placed: (event: LoggedEvent) => Node['facts'],
): Node {
  const { member, parent, verdict, reason, difference, error, accuracy, parentAccuracy } = event.data
  const rate = ({ successes, n }: typeof accuracy) => `${successes} of ${n}`
  return node(`proposal ${member} ${verdict}: ${reason}`, {
    'compared with': parent === 0 ? 'the start' : `proposal ${parent}`,
    difference: `${difference.value.toFixed(3)} [${difference.low.toFixed(3)}, ${difference.high.toFixed(3)}] over ${difference.n} tasks`,
    'error of this look': error,
    accuracy: rate(accuracy),
    'parent accuracy': rate(parentAccuracy),
    ...placed(event),
  })
}
