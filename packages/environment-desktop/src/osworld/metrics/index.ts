/** Metrics by OSWorld's names. */
import { compareDocxFiles, compareDocxTables } from './document.ts'
import { checkDirectJsonObject, checkJson, checkJsonSettings } from './json.ts'
import { compareTable } from './table.ts'
import * as text from './text.ts'
import type { Metric, Options } from './values.ts'

export const METRICS: Readonly<Record<string, Metric>> = {
  check_direct_json_object: checkDirectJsonObject,
  check_include_exclude: text.checkIncludeExclude,
  check_json: checkJson,
  check_json_settings: checkJsonSettings,
  check_list: text.checkList,
  compare_config: text.compareConfig,
  compare_csv: text.compareCsv,
  compare_docx_files: compareDocxFiles,
  compare_docx_tables: compareDocxTables,
  compare_table: compareTable,
  compare_text_file: text.compareTextFile,
  exact_match: text.exactMatch,
  file_contains: text.fileContains,
  is_extension_installed: text.isExtensionInstalled,
  is_utc_0: text.isUtc0,
  literal_match: text.literalMatch,
  match_in_list: text.matchInList,
}

/** Options of each metric beside its rules. */
const OPTIONS: Readonly<Record<string, readonly string[]>> = {
  compare_csv: ['strict', 'ignore_case'],
  compare_docx_files: ['ignore_blanks', 'ignore_case', 'ignore_order', 'delete_empty_lines'],
  compare_table: ['rules'],
  compare_text_file: ['ignore_blanks', 'ignore_case'],
  literal_match: ['type', 'ignore_case'],
}

/** Returns the options of a task that would change its metric's result and that are not known here. */
export function unknownOptions(metric: string, options: Options): readonly string[] {
  return Object.entries(options)
    .filter(([name, value]) => value !== false && value !== null && !OPTIONS[metric]?.includes(name))
    .map(([name]) => `${metric}.${name}`)
}
