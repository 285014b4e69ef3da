import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { alfworldEnvironment } from '../../../src/environments/alfworld/environment.ts'
import { createTokenizer } from '../../../src/models/local/tokenizer.ts'
import { trainWordTokenizer } from '../../../src/models/local/word-tokenizer.ts'
import { rng } from '../../../src/random.ts'

const spaceless = (text: string) => text.replace(/[^\S\n]/g, '')

/** What a player of the tasks reads and may write, on a random walk through each. */
async function textsOf(seed: number, games: number): Promise<string[]> {
  const counts = { train: games, 'in-domain': 1, ood: 1 }
  const environment = alfworldEnvironment({ source: { kind: 'generated', seed, counts, size: 'medium' } })
  const { pick } = rng([seed, 1])
  const texts: string[] = []
  for (const task of await environment.tasks('train')) {
    let episode = await environment.reset(task, { seed: [seed, 0], maxSteps: 20 })
    texts.push(task.goal)
    while (!episode.turn.done) {
      texts.push(episode.turn.observation, ...episode.turn.admissible)
      episode = episode.step(pick(episode.turn.admissible))
    }
  }
  return texts
}

test('a vocabulary from the texts of some generated games covers those of others, word by word', async () => {
  const tokenizer = createTokenizer(trainWordTokenizer({ texts: await textsOf(1, 60) }))
  let tokens = 0
  let spelled = 0
  for (const text of await textsOf(2, 20)) {
    const ids = tokenizer.encode(text)
    tokens += ids.length
    assert.not.ok(ids.includes(tokenizer.unknownToken!), text)
    spelled += ids.filter((id) => tokenizer.tokenText(id).startsWith('##')).length
    assert.is(spaceless(tokenizer.decode(ids)), spaceless(text))
  }
  assert.ok(tokens > 20_000)
  assert.is(spelled, 0)
  assert.ok(tokenizer.size < 1000, `${tokenizer.size}`)
})

test.run()
