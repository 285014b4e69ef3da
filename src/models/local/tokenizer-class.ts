/**
 * Handles the class that tokenizer_config.json names. For Qwen2Tokenizer, GPT2Tokenizer and LlamaTokenizer, AutoTokenizer of transformers
 * 5 uses only parts of tokenizer.json: the vocabulary, the merges and the tokens around a text. It cuts text by the class's own rule.
 * For example, SmolLM2's tokenizer.json splits digits, but its class keeps them together. AutoTokenizer also rebuilds further classes
 * (`OTHERS`), which are not implemented here. For any other name tokenizer.json is used unchanged.
 */
import { ownValue } from '../../own-value.ts'
import type { RefusePart } from './tokenizer-parts.ts'

type Json = Readonly<Record<string, unknown>>

/** Keys of tokenizer_config.json that the classes read. */
export type ClassOptions = {
  readonly tokenizer_class?: string | null
  readonly add_prefix_space?: boolean | null
  readonly legacy?: boolean | null
}

/** Pattern by which Qwen2's tokenizer cuts text. */
export const QWEN2_PATTERN =
  "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

const BUILT: Readonly<Record<string, (options: ClassOptions) => Json>> = {
  Qwen2Tokenizer: ({ add_prefix_space }) => ({
    normalizer: { type: 'NFC' },
    pre_tokenizer: {
      type: 'Sequence',
      pretokenizers: [
        { type: 'Split', pattern: { Regex: QWEN2_PATTERN }, behavior: 'Isolated', invert: false },
        byteLevel(add_prefix_space ?? false, false),
      ],
    },
    decoder: byteLevel(false, true),
  }),
  GPT2Tokenizer: ({ add_prefix_space }) => ({
    normalizer: null,
    pre_tokenizer: byteLevel(add_prefix_space ?? false, true),
    decoder: byteLevel(false, true),
  }),
  LlamaTokenizer({ add_prefix_space, legacy }) {
    const prefixed = add_prefix_space ?? true
    const prepend_scheme = prefixed ? (legacy ? 'always' : 'first') : 'never'
    const strip = { type: 'Strip', content: ' ', start: 1, stop: 0 }
    return {
      normalizer: null,
      pre_tokenizer: { type: 'Metaspace', replacement: '\u2581', prepend_scheme, split: false },
      decoder: {
        type: 'Sequence',
        decoders: [
          { type: 'Replace', pattern: { String: '\u2581' }, content: ' ' },
          ...[{ type: 'ByteFallback' }, { type: 'Fuse' }, ...(prefixed ? [strip] : [])],
        ],
      },
    }
  },
}

/** Further classes that transformers 5.23 rebuilds. */
const OTHERS = new Set(
  (
    'Albert Bart Barthez Bert BigBird Blenderbot CLIP Camembert CodeGen CodeLlama Cohere DPRQuestionEncoder Deberta DebertaV2 Esmc FNet ' +
    'Funnel GPTNeoX Gemma Herbert LED Lasr LayoutLMv2 LayoutLMv3 LayoutXLM Luke Lxmert MBart MBart50 MPNet MarkupLM MobileBert Mvp ' +
    'Nllb Nougat OpenAIGPT Pegasus Qwen3_5 Reformer RemBert RoFormer Roberta SeamlessM4T Siglip2 Splinter T5 Udop VideoPrism Whisper ' +
    'XGLM XLMRoberta XLNet'
  )
    .split(' ')
    .map((name) => `${name}Tokenizer`),
)

/**
 * Returns tokenizer.json as its class reads it, and the class if it rebuilds tokenizer.json.
 * @param modelType `model_type` of config.json; without it tokenizer.json stays unchanged
 * @throws the error of `refuse` for a class that is rebuilt in a way that is not implemented
 */
export function readByClass(
  tokenizer: Json,
  options: ClassOptions,
  modelType: string | undefined,
  refuse: RefusePart,
): { readonly tokenizer: Json; readonly anew: string | null } {
  const model = tokenizer.model as Json | undefined
  const name = classOf(tokenizer, options, modelType)
  if (name !== null && OTHERS.has(name)) throw refuse(`tokenizer_class ${name}`)
  const build = name === null ? undefined : ownValue(BUILT, name)
  if (!build || model?.type !== 'BPE') return { tokenizer, anew: null }
  const pieces = name === 'LlamaTokenizer'
  return {
    tokenizer: {
      ...tokenizer,
      ...build(options),
      model: {
        ...model,
        dropout: null,
        unk_token: null,
        ignore_merges: false,
        continuing_subword_prefix: null,
        end_of_word_suffix: null,
        fuse_unk: pieces,
        byte_fallback: pieces,
      },
    },
    anew: name,
  }
}

/** Chooses as AutoTokenizer does: Qwen2 models have one class, whatever the file names. */
function classOf(
  tokenizer: Json,
  { tokenizer_class }: ClassOptions,
  modelType: string | undefined,
): string | null {
  if (modelType === undefined) return null
  const named = tokenizer_class?.replace(/Fast$/, '') ?? null
  if (modelType === 'qwen2') return 'Qwen2Tokenizer'
  if (
    named === 'LlamaTokenizer' &&
    JSON.stringify([tokenizer.pre_tokenizer, tokenizer.decoder]).includes('"ByteLevel"')
  )
    return null
  return named ?? (modelType === 'qwen3' ? 'Qwen2Tokenizer' : null)
}

function byteLevel(add_prefix_space: boolean, use_regex: boolean): Json {
  return { type: 'ByteLevel', add_prefix_space, trim_offsets: true, use_regex }
}
