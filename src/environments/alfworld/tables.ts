import { itemAt } from '../../item-at.ts'
import type { Domain } from './domain.ts'
import { packingFor, relationOf } from './facts.ts'
import type { Tables } from './match.ts'
import type { Problem } from './problem.ts'

/** Numbers the objects and predicates of a problem and packs its initial facts. */
export function tablesOf(domain: Domain, problem: Problem): Tables {
  const ids = [...problem.objects.keys()].sort()
  const entities = new Map(ids.map((id, entity) => [id, entity]))
  const packing = packingFor(ids.length)
  const predicates = new Map([...domain.predicates.keys()].map((name, i) => [name, i]))
  const keys: number[][] = [...predicates.keys()].map(() => [])
  for (const { predicate, args } of problem.init) {
    let key = 0
    for (const id of args) key = (key << packing.bits) | (entities.get(id) ?? 0)
    itemAt(keys, predicates.get(predicate) ?? -1).push(key)
  }
  return {
    packing,
    ids,
    types: ids.map((id) => problem.objects.get(id) ?? 'object'),
    entities,
    predicates,
    init: [...keys.map(relationOf), ...keys.map(() => [])],
  }
}
