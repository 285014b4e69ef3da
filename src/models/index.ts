/** `import { openLocalModel } from 'rlanything/models'`: language models behind one port, in this process's threads or behind HTTP. */

export type { BackendChoice } from './local/backend/backend.ts'
export type { ModelConfig } from './local/config.ts'
export type { LoraConfig } from './local/lora.ts'
export { type LocalModelFace, type LocalModelOptions, openLocalModel } from './local/model.ts'
export { PRESET_NAMES, type PresetName, presetConfig } from './local/presets.ts'
export { createTokenizer, type Tokenizer, type TokenizerFiles } from './local/tokenizer.ts'
export { trainWordTokenizer } from './local/word-tokenizer.ts'
export type { EndpointUse } from './openai/use.ts'
export { type EndpointModel, openEndpoint } from './openai.ts'
export type * from './port.ts'
export type * from './provider.ts'
