/** Verdicts of people: what was said of a single call takes the place of the model's verdict. */
import type { EventData, NewEvent } from '../../events/catalogue.ts'
import type { LogClient } from '../../events/log-client.ts'
import type { JudgeRollouts } from '../decider/jobs.ts'
import type { Judge } from '../learner/ports.ts'
import { readIteration } from '../rollout/log-queries.ts'

type Scored = EventData<'StepScored'>
type Note = EventData<'StepNoted'>

/** Judges as a judge does, but for steps with a score of somebody. A later score of a step counts. */
export function withNotes(judge: Judge['judge'], log: LogClient, samples: number): Judge['judge'] {
  return async (job, context) => {
    const [events, notes] = await Promise.all([judge(job, context), notesOn(log, job)])
    if (notes.size === 0) return events
    return events.map((event): NewEvent => {
      const note = event.type === 'StepScored' && notes.get(`${event.data.rollout}#${event.data.step}`)
      return note ? { ...event, data: noted(event.data as Scored, note, samples) } : event
    })
  }
}

async function notesOn(log: LogClient, { iteration, rollouts }: JudgeRollouts): Promise<Map<string, Note>> {
  const { StepNoted } = await readIteration(log, iteration, ['StepNoted'])
  const asked = new Set(rollouts.map(({ rollout }) => rollout))
  const scored = StepNoted.filter(({ rollout, score }) => score !== null && asked.has(rollout))
  return new Map(scored.map((note) => [`${note.rollout}#${note.step}`, note]))
}

/** Such a verdict has no tokens, so the reward model is not trained on it. */
export function noted(scored: Scored, { score, text }: Note, samples: number): Scored {
  const { promptI32, ...rest } = scored
  const verdict = Math.sign(score ?? 0) as -1 | 0 | 1
  const judgement = {
    critique: text ?? '',
    score: verdict,
    tokensI32: NOTHING,
    logprobsF32: NOTHING,
  }
  return { ...rest, judgements: Array.from({ length: samples }, () => judgement), probability: null }
}

const NOTHING = new Uint8Array()
