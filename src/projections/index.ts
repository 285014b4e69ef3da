/** `import { defineTable, type Projection } from 'rlanything/projections'`: tables that follow from the log, ours and a user's. */
export { PROJECTIONS } from './all.ts'
export {
  catchUp,
  type OpenTables,
  openProjections,
  type Projection,
  type Projections,
} from './projection.ts'
export { defineTable, type Row, type SqlValue, type Table, type TableDefinition } from './table.ts'
