/** Metrics by OSWorld's names. */
import { compareDocxFiles, compareDocxTables } from './document.ts'
import { checkDirectJsonObject, checkJson, checkJsonSettings } from './json.ts'
import { compareTable } from './table.ts'
import * as text from './text.ts'
import type { Metric } from './values.ts'

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
  is_utc_0: text.isUtc0,
  literal_match: text.literalMatch,
  match_in_list: text.matchInList,
}
