import { describe, expect, test } from 'vitest'
import { type NeededSearches, neededSearches, type SearchConditions } from '../../src/batch/minted/list-collection.ts'

const NEW: SearchConditions = { isNew: true, isSharedScope: true, pendingCount: 3, repeatedCount: 0 }
const RESUMED: SearchConditions = { ...NEW, isNew: false }
const RETRIED: SearchConditions = { ...RESUMED, repeatedCount: 1 }

const searchesOf = (searches: NeededSearches): string =>
  Object.entries(searches)
    .flatMap(([search, isNeeded]) => (isNeeded ? search : []))
    .join(' ')

describe('searches for rows that were minted before', () => {
  test.each<[string, SearchConditions, string]>([
    ['a new run', NEW, 'listing references contents'],
    ['a new run whose rows the server has', { ...NEW, pendingCount: 0 }, 'listing references contents'],
    ['a new run with --again', { ...NEW, again: true }, 'listing references'],
    ['a second drop with --again', { ...NEW, again: true, isSharedScope: false }, 'listing'],
    ['a new run with --no-lookup', { ...NEW, lookup: false }, 'listing'],
    ['a second drop', { ...NEW, isSharedScope: false }, 'listing references contents'],

    ['a resumed run', RESUMED, 'listing references contents'],
    ['a resumed run without pending rows', { ...RESUMED, pendingCount: 0 }, ''],
    ['a resumed run with --again', { ...RESUMED, again: true }, ''],
    ['a resumed run with --no-lookup', { ...RESUMED, lookup: false }, ''],

    ['rows that were absent', RETRIED, 'listing references absent contents'],
    ['rows that were absent, with --again', { ...RETRIED, again: true }, 'listing references absent'],
    [
      'rows that were absent, in a second drop with --again',
      { ...RETRIED, again: true, isSharedScope: false },
      'listing absent',
    ],
    ['rows that were absent, with --no-lookup', { ...RETRIED, lookup: false }, 'listing absent'],
  ])('of %s', (_start, facts, expected) => {
    expect(searchesOf(neededSearches(facts))).toBe(expected)
  })
})
