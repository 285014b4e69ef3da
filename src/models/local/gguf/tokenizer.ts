/** Builds the tokenizer files of a Hugging Face folder from a GGUF file's metadata. */

import { RlError } from '../../../errors.ts'
import { ownValue } from '../../../own-value.ts'
import type { TokenizerFiles } from '../tokenizer.ts'
import { QWEN2_PATTERN } from '../tokenizer-class.ts'
import type { GgufValue } from './header-values.ts'

/** How text is cut before merging, by `tokenizer.ggml.pre`. Null is GPT-2's own rule, which is ByteLevel's default. */
const LLAMA3 = QWEN2_PATTERN.replace('\\p{N}|', '\\p{N}{1,3}|')
const SPLITS: Readonly<Record<string, { readonly pattern: string | null; readonly nfc?: true }>> = {
  default: { pattern: null },
  'gpt-2': { pattern: null },
  smollm: { pattern: null },
  qwen2: { pattern: QWEN2_PATTERN, nfc: true },
  'deepseek-r1-qwen': { pattern: QWEN2_PATTERN, nfc: true },
  'llama-bpe': { pattern: LLAMA3 },
  llama3: { pattern: LLAMA3 },
  'llama-v3': { pattern: LLAMA3 },
}

/** Model types for which `tokenizer-class.ts` always uses one class. Exports are cut by that class. */
const CUT_BY_CLASS: Readonly<Record<string, string>> = { qwen2: 'qwen2' }
/** How a class cuts if the file does not say. Converters from before May 2024 did not. */
const CUT_UNTOLD: Readonly<Record<string, string>> = { ...CUT_BY_CLASS, qwen3: 'qwen2' }

const UNTOLD = ''
const CONTROL = 3
const USER_DEFINED = 4

/** @throws RlError `model.tokenizer` if it is not byte-level BPE, or if its way of cutting text is unknown or not that of its class */
export function ggufTokenizer(metadata: ReadonlyMap<string, GgufValue>, path: string): TokenizerFiles {
  const get = (key: string) => metadata.get(`tokenizer.ggml.${key}`)
  const refuse = (message: string) =>
    new RlError(`${path}: ${message}`, {
      code: 'model.tokenizer',
      hint: 'use the folder from which the file was made: its tokenizer.json has more',
    })
  const model = get('model')
  if (model !== 'gpt2')
    throw refuse(`tokenizer.ggml.model is ${model}: byte-level BPE ('gpt2') is implemented`)
  const pre = String(get('pre') ?? UNTOLD)
  const architecture = String(metadata.get('general.architecture'))
  const byClass = ownValue(CUT_BY_CLASS, architecture)
  const untold = ownValue(CUT_UNTOLD, architecture)
  if (pre === UNTOLD && untold === undefined)
    throw refuse(`there is no tokenizer.ggml.pre: it is unknown how text of a ${architecture} model is cut`)
  const cut = pre === UNTOLD || pre === 'default' ? (untold ?? pre) : pre
  const split = ownValue(SPLITS, cut)
  if (!split) throw refuse(`tokenizer.ggml.pre is ${pre}: it is unknown how that cuts text`)
  if (byClass !== undefined && split.pattern !== SPLITS[byClass]?.pattern)
    throw refuse(`tokenizer.ggml.pre is ${pre}: text of a ${architecture} model is cut as ${byClass} does`)
  const tokens = texts(get('tokens'))
  const merges = texts(get('merges'))
  const types = get('token_type')
  if (!tokens || !merges) throw refuse('tokenizer.ggml.tokens and merges are not lists of texts')
  if (!Array.isArray(types) || types.length !== tokens.length)
    throw refuse('tokenizer.ggml.token_type has no type for each token: special tokens would be text')
  const typeOf = (id: number) => Number(types[id])
  const named = (name: string) => {
    const id = get(`${name}_token_id`)
    return typeof id === 'number' ? (tokens[id] ?? null) : null
  }
  const byteLevel = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true }
  const pattern = split.pattern && {
    type: 'Split',
    pattern: { Regex: split.pattern },
    behavior: 'Isolated',
    invert: false,
  }
  const [bos, eos] = [named('bos'), named('eos')]
  const put = (token: string | null, key: string) => (get(key) === true && token !== null ? [token] : [])
  const template = metadata.get('tokenizer.chat_template')
  return {
    tokenizer: {
      version: '1.0',
      truncation: null,
      padding: null,
      added_tokens: tokens.flatMap((content, id) =>
        [CONTROL, USER_DEFINED].includes(typeOf(id))
          ? [
              {
                id,
                content,
                special: typeOf(id) === CONTROL,
                single_word: false,
                lstrip: false,
                rstrip: false,
                normalized: false,
              },
            ]
          : [],
      ),
      normalizer: split.nfc ? { type: 'NFC' } : null,
      pre_tokenizer: pattern
        ? { type: 'Sequence', pretokenizers: [pattern, { ...byteLevel, use_regex: false }] }
        : { ...byteLevel, use_regex: true },
      post_processor: around(put(bos, 'add_bos_token'), put(eos, 'add_eos_token'), tokens),
      decoder: { ...byteLevel, use_regex: true },
      model: {
        type: 'BPE',
        dropout: null,
        unk_token: null,
        continuing_subword_prefix: null,
        end_of_word_suffix: null,
        fuse_unk: false,
        byte_fallback: false,
        ignore_merges: split.pattern === LLAMA3,
        vocab: Object.fromEntries(tokens.map((token, id) => [token, id])),
        merges,
      },
    },
    config: {
      tokenizer_class: 'PreTrainedTokenizerFast',
      bos_token: bos,
      eos_token: eos,
      unk_token: named('unknown'),
      pad_token: named('padding'),
      clean_up_tokenization_spaces: false,
      ...(typeof template === 'string' ? { chat_template: template } : {}),
    },
  }
}

/** Returns a post-processor that adds tokens before and after a text, or null if there are none. */
function around(before: readonly string[], after: readonly string[], tokens: readonly string[]) {
  const all = [...before, ...after]
  if (all.length === 0) return null
  const special = (id: string) => ({ SpecialToken: { id, type_id: 0 } })
  const single = [...before.map(special), { Sequence: { id: 'A', type_id: 0 } }, ...after.map(special)]
  return {
    type: 'TemplateProcessing',
    single,
    pair: [...single, { Sequence: { id: 'B', type_id: 1 } }],
    special_tokens: Object.fromEntries(
      all.map((id) => [id, { id, ids: [tokens.indexOf(id)], tokens: [id] }]),
    ),
  }
}

function texts(value: GgufValue | undefined): readonly string[] | null {
  return Array.isArray(value) && value.every((one) => typeof one === 'string') ? (value as string[]) : null
}
