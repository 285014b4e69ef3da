/**
 * integrations/torch: the same batch gives the weights that our own trainer gives. RL_TEST_PYTHON names a Python that has its
 * packages (integrations/torch/constraints.txt); SKIP where they are missing.
 */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { startProgram } from './support/processes.ts'
import { PYTHON } from './support/python.ts'
import { batchOf, compareTiny, TOLERANCE } from './support/torch-tiny.ts'
import { lacksTrainer, type Version } from './support/torch-trainer.ts'

/** As a run's defaults have it, and then what an update can be told beside: of the entropies, the samples' ratios, the upper layer alone. */
function usual(lora: boolean): Version[] {
  const training = { klLimit: null, weightDecay: 0.01, dualClip: 3, tokenBudget: 64 }
  const masks = { entropyWeight: 0.02, entropyShare: 0.6, offPolicyLimit: 0.05 }
  return [
    { training, samples: batchOf(1), tolerance: TOLERANCE },
    {
      training: { ...training, ...masks, layers: lora ? 1 : null },
      ...{ samples: batchOf(2), tolerance: 2 * TOLERANCE },
    },
  ]
}

const lacking = lacksTrainer()
if (lacking)
  test('the trainer in PyTorch', () => {
    console.log(`SKIP the trainer in PyTorch: ${lacking}`)
  })
else {
  test('whole weights come out as from our own trainer, version after version, through a crash', () =>
    compareTiny('nano', { role: 'policy', lora: false, versions: usual(false) }))
  test('so do those of the other shape', () =>
    compareTiny('tiny', { role: 'policy', lora: false, versions: usual(false) }))
  test('an adapter of the judge comes out as from our own trainer', () =>
    compareTiny('nano', { role: 'reward-model', lora: true, versions: usual(true) }))
  test('six processes of a group end cleanly', async () => {
    const words =
      'from rlanything_trainer.group import Group; group = Group("cpu"); group.tell("over"); group.leave()'
    const torchrun = ['-m', 'torch.distributed.run', '--standalone', '--nproc-per-node', '6', '--no-python']
    const group = startProgram(PYTHON, [...torchrun, PYTHON, '-c', words], {
      ...{ PYTHONPATH: 'integrations/torch', GLOO_SOCKET_IFNAME: 'lo' },
    })
    assert.is(await group.status, 0, group.output())
  })
  test('two processes that share the weights give the same', async () => {
    await compareTiny('nano', { role: 'policy', lora: false, processes: 2, versions: usual(false) })
    await compareTiny('nano', { role: 'reward-model', lora: true, processes: 2, versions: usual(true) })
  })
}

test.run()
