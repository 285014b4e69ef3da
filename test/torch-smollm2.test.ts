/**
 * integrations/torch on a released model: an adapter on SmolLM2-135M-Instruct comes out as from our own trainer. SKIP without the
 * packages (RL_TEST_PYTHON) or the model's file.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import { exportFolder } from '../src/models/local/export-folder.ts'
import { LORA_TARGETS } from '../src/models/local/lora-targets.ts'
import type { LocalModelFace } from '../src/models/local/model.ts'
import type { TrainingSample } from '../src/models/port.ts'
import { rng } from '../src/random.ts'
import { temporaryFolder } from './support/run.ts'
import { compare, lacksTrainer, sampleOf } from './support/torch-trainer.ts'

const released = new URL('../../shared/data/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf', import.meta.url)
  .pathname

/**
 * What of an update may differ, as a share of its length (4e-3 was measured): thirty layers in float32 leave gradients some 1e-5 of
 * their size apart, and Adam turns the sign of each that is smaller than that into a whole step.
 */
const TOLERANCE = 1e-2

const TEXTS = [
  [
    'You are in the kitchen. There are a fridge, a table and three cabinets. Your task is to put a clean apple on the table.',
    'The apple is most likely in the fridge. I open the fridge, take the apple, wash it at the sink and put it on the table.',
  ],
  [
    'The agent was to heat a mug and to put it into a cabinet. It took the mug, opened the microwave and closed it. Was that a step ahead?',
    'The mug was never put into the microwave, so it is as cold as before: the step brought nothing.',
  ],
  [
    'Write a function that adds two numbers and gives their sum.',
    'def add(a, b):\n    """The sum of two numbers."""\n    return a + b\n\nassert add(2, 3) == 5',
  ],
]

async function samplesOf(model: LocalModelFace): Promise<TrainingSample[]> {
  const random = rng([4, 7])
  const samples: TrainingSample[] = []
  for (const [i, [asked, answer]] of TEXTS.entries()) {
    const prompt = model.encode(asked)
    const tokens = Int32Array.from([...prompt, ...model.encode(`\n${answer}`)])
    const sequence = { id: `s/${i}#0`, tokens, prompt: prompt.length, restricted: i === 1 }
    samples.push(await sampleOf(model, sequence, random))
  }
  return samples
}

const lacking = lacksTrainer() ?? (existsSync(released) ? null : `${released} is not here`)
if (lacking)
  test('the trainer in PyTorch on SmolLM2', () => {
    console.log(`SKIP the trainer in PyTorch on SmolLM2: ${lacking}`)
  })
else
  test('an adapter on SmolLM2 comes out as from our own trainer', async () => {
    const base = join(temporaryFolder(), 'smollm2')
    await exportFolder(released, base, 'F32')
    await compare({
      ...{ name: 'smollm2', base, role: 'policy' },
      adapter: { rank: 8, alpha: 16, targets: [...LORA_TARGETS] },
      versions: [{ training: { klLimit: null }, samples: samplesOf, tolerance: TOLERANCE }],
    })
  })

test.run()
