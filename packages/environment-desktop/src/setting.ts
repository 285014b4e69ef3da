/**
 * Desktops as a setting: tasks over real programs, ours or OSWorld's. `open` loads the code that runs them.
 */
import { defineSetting, type Expert, PLAIN_CAUSES, type Turn } from 'rlanything/environments'
import { commands } from './commands.ts'
import type { DesktopEnvironment } from './environment.ts'
import type { DesktopEpisode } from './episode.ts'
import { seeingBy } from './screen/answer.ts'
import { shape } from './section.ts'

export const setting = defineSetting<DesktopEnvironment, ReturnType<typeof shape>>({
  name: 'desktop',
  summary: "real programs on desktops: tasks of ours, or OSWorld's",
  config: shape,
  check({ environment }, refuse) {
    if (environment.source === 'data' && environment.data === null)
      refuse('environment.data', 'source data needs a folder', "give a folder with OSWorld's task files")
  },
  async open(config, section) {
    return (await import('./open.ts')).openEnvironment(config, section)
  },
  async runtime({ describe, leftOut, infeasible }) {
    const names = [...leftOut]
      .sort(([, one], [, other]) => other - one)
      .map(([name, count]) => `${name} ${count}`)
    return [
      describe,
      ...(infeasible.tasks > 0
        ? [`${infeasible.tasks} of ${infeasible.of} tasks are solved by saying that they cannot be done`]
        : []),
      ...(names.length > 0 ? [`tasks left out for: ${names.join(', ')}`] : []),
    ].join('; ')
  },
  acting: { kind: 'choices' },
  pictures: {
    picture: (_, episode) => (episode as DesktopEpisode).picture(),
    seeing: ({ grammar }) => seeingBy(grammar),
  },
  judging: { by: 'steps', causes: PLAIN_CAUSES },
  expert: (environment, first) => oracleExpert(environment, first),
  commands,
  doctor: async () => (await import('./doctor.ts')).doctor(),
})

/** Follows the commands that are known to do the task. It waits while the next one is not admissible. */
function oracleExpert(environment: DesktopEnvironment, { observation }: Turn): Expert {
  const goal = /^Task: (.*)$/m.exec(observation)?.[1] ?? ''
  const commands = environment.oracle(goal) ?? ['fail']
  let next = 0
  return {
    advise({ admissible }) {
      const command = commands[next] ?? commands.at(-1) ?? 'wait'
      return admissible.includes(command) ? command : 'wait'
    },
    observe(action) {
      if (action === commands[next]) next++
    },
  }
}
