/** The tiny chat model behind `rl serve --allow-loading`. */
import { type Started, startProcess } from './processes.ts'
import { until } from './run.ts'
import { writeTinyChatModel } from './tiny-chat-model.ts'

export type ServedModel = { readonly address: string; readonly server: Started }

/** Makes the model in a folder and serves it by the name `tiny`; `RL_SERVE_TOKEN` is `word-of-the-server`. */
export async function serveTinyChatModel(folder: string): Promise<ServedModel> {
  await writeTinyChatModel(folder, 60)
  const words = ['serve', '--model', folder, '--name', 'tiny', '--port', '0', '--allow-loading']
  const server = startProcess(['src/rl.ts', ...words], { RL_SERVE_TOKEN: 'word-of-the-server' })
  await until('served', () => /http:\S+\s/.test(server.output()), 240_000)
  return { address: /http:\S+/.exec(server.output())![0], server }
}
