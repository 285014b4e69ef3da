/** What each folder of src may import. test/layers.test.ts holds it, and scripts/house.ts counts its exceptions. */

/** Files and folders that everybody may know. They know one another alone. */
export const COMMON = [
  'clock',
  'columns',
  'command-line',
  'errors',
  'exact-json',
  'is-record',
  'limit',
  'nearest',
  'package',
  'platform',
  'random',
  'registry',
  'safe-parse',
  'secrets',
  'tagged',
  'text-file',
  'user-code',
  'user-module',
  'whole-ticks',
]

/** What each folder, and each file that lies in none, may know besides: a folder, or one file of it. A port is types alone. */
export const MAY_KNOW: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(COMMON.map((name) => [name, []])),
  events: [],
  tensorflow: [],
  'openai-api': [],
  learning: ['environments/port'],
  models: ['openai-api', 'tensorflow'],
  environments: ['models/port', 'config/schema'],
  config: ['environments', 'learning/registry', 'models'],
  projections: ['events', 'learning'],
  broker: ['events'],
  'user-parts': ['config', 'environments', 'learning', 'models', 'projections'],
  actors: [
    'broker',
    'config',
    'environments',
    'events',
    'learning',
    'models',
    'openai-api',
    'projections',
    'user-parts',
  ],
  gateway: ['actors', 'broker', 'config', 'environments', 'events', 'models', 'openai-api'],
  trainer: ['actors', 'config', 'events', 'models'],
  replay: ['actors', 'broker', 'config', 'environments', 'events', 'learning', 'projections'],
  evaluation: ['actors', 'config', 'environments', 'events', 'learning'],
  ablation: ['broker', 'config', 'evaluation', 'events', 'learning', 'replay'],
  testing: ['actors', 'cli/packages', 'config', 'environments', 'events'],
  ui: ['actors', 'broker', 'config', 'events', 'learning', 'projections', 'replay'],
  cli: [
    'ablation',
    'actors',
    'broker',
    'config',
    'environments',
    'evaluation',
    'events',
    'gateway',
    'learning',
    'models',
    'projections',
    'replay',
    'trainer',
    'ui',
    'user-parts',
  ],
  kit: [],
  index: ['actors', 'broker', 'cli/packages', 'config', 'events'],
  main: ['cli'],
  rl: ['cli', 'environments'],
}

/** Circles of folders, each with its reason. The list may only shrink. */
export const CIRCLES: Readonly<Record<string, string>> = {
  'config, environments':
    'a setting is handed the whole Config, and the config asks each setting for its keys: it ends when a setting is handed its own section',
}
