import { describe, expect, test } from 'vitest'
import { MISSING_LABEL_NOTE } from '../../src/batch/identity/other-labels.ts'
import { keptChangesNotes } from '../../src/cli/mcp/why-not-runnable.ts'
import { formatPlanNotes, type PlanNoteInputs } from '../../src/plan/plan-notes.ts'

const NOTHING: PlanNoteInputs = {
  relabeled: { count: 0, labels: [] },
  label: 'feb/drop.csv',
  paired: [],
  removedRows: { count: 0, firstNames: [], withoutIdCount: 0 },
  newUnnamed: 0,
  keptUnnamed: 0,
  unedited: 0,
  revealed: 0,
  addedIds: null,
  isPruning: false,
  counts: { drift: 0, lasting: 0, keptBurns: 0 },
  hasReferences: true,
  hasUpdates: true,
  noBurns: null,
  isMintedHere: true,
  mayBeMinted: false,
  isShuffled: false,
}
const ONE_GONE: PlanNoteInputs = {
  ...NOTHING,
  removedRows: { ...NOTHING.removedRows, count: 1, firstNames: ['Blue (7)'], withoutIdCount: 1 },
}
const ELSEWHERE = 'has been changed, for example by another machine. gdn apply reverts the change'
const BURNED = 'Its NFT is burned only by a plan that was saved with --prune and --out'

describe('the notes of a plan', () => {
  test.each<[string, PlanNoteInputs, string[]]>([
    ['without anything to say', NOTHING, []],
    [
      'with a change made outside the manifest, apart from burns',
      { ...NOTHING, counts: { drift: 2, lasting: 1, keptBurns: 0 } },
      [
        'gdn keeps 1 change made outside the manifest. To accept it, enter the current value in the manifest, such as the new owner in the receiver column, and run gdn apply. To replace it with the value of the manifest, add --take-over',
      ],
    ],
    [
      'with a change of a row that needs an ID before it is edited',
      { ...NOTHING, keptUnnamed: 1, counts: { drift: 1, lasting: 0, keptBurns: 0 } },
      [
        'gdn keeps 1 change made outside the manifest. To accept it, add an id column to the manifest, run gdn apply, then enter the current value in the manifest, such as the new owner in the receiver column, and run gdn apply again. To replace it with the value of the manifest, add --take-over',
      ],
    ],
    [
      'with a removed row that was changed outside the manifest',
      { ...NOTHING, counts: { drift: 2, lasting: 1, keptBurns: 1 } },
      ['gdn keeps the NFTs of removed rows if their owners were changed outside the manifest, even with --take-over'],
    ],
    [
      'with changes and removed rows that were changed outside the manifest',
      { ...NOTHING, counts: { drift: 4, lasting: 1, keptBurns: 1 } },
      [
        'gdn keeps 2 changes made outside the manifest. To accept them, enter the current values in the manifest, such as the new owner in the receiver column, and run gdn apply. To replace them with the values of the manifest, add --take-over',
        'gdn keeps the NFTs of removed rows if their owners were changed outside the manifest, even with --take-over',
      ],
    ],
    [
      'with an NFT of another label',
      { ...NOTHING, relabeled: { count: 1, labels: ['jan/drop.csv'] } },
      ['1 NFT has the label "jan/drop.csv". gdn apply replaces it with "feb/drop.csv"'],
    ],
    [
      'with rows that got an ID',
      { ...NOTHING, paired: [{ alias: 'wanted' }, { alias: 'stored' }, { alias: 'wanted' }, { alias: 'impossible' }] },
      [
        'IDs were added to 2 rows after their mint. gdn apply stores each ID with its NFT',
        "An ID was added to 1 row after its mint. The server can't store IDs with NFTs, so the IDs are recorded only on this machine",
      ],
    ],
    [
      'with a row that is gone',
      ONE_GONE,
      ['1 row that the run has sent is no longer in the manifest', 'Without a row: Blue (7)', BURNED],
    ],
    [
      'with a row that is gone, whose NFT the collection does not let gdn burn',
      { ...ONE_GONE, noBurns: 'the collection was created without --enable-burn' },
      [
        '1 row that the run has sent is no longer in the manifest',
        'Without a row: Blue (7)',
        "gdn can't burn its NFT: the collection was created without --enable-burn",
      ],
    ],
    [
      'with a row that may be an edit of one that is gone',
      { ...ONE_GONE, newUnnamed: 1 },
      [
        '1 row that the run has sent is no longer in the manifest. Without an id, an edited row is a new row, and would be minted as an additional NFT',
        'Without a row: Blue (7)',
        BURNED,
      ],
    ],
    [
      'with more rows that are gone than it names',
      { ...NOTHING, removedRows: { ...NOTHING.removedRows, count: 3, firstNames: ['Blue', 'Red'] }, hasUpdates: false },
      ['3 rows that the run has sent are no longer in the manifest', 'Without a row: Blue, Red, and 1 more'],
    ],
    ['that burns the NFTs of rows that are gone', { ...ONE_GONE, isPruning: true }, []],
    [
      'of a new run, on a server without reference IDs',
      { ...NOTHING, hasReferences: false, isMintedHere: false },
      [
        'The server does not support reference IDs, and this machine has no run of this manifest, so gdn treats all rows as new',
      ],
    ],
    [
      'with a row to change that was not edited here',
      { ...NOTHING, unedited: 1 },
      [`1 row that differs from its NFT was not edited on this machine: the NFT ${ELSEWHERE}`],
    ],
    [
      'with rows to change that were not edited here',
      { ...NOTHING, unedited: 2 },
      [
        `2 rows that differ from their NFTs were not edited on this machine: the NFTs ${ELSEWHERE.replace('has', 'have')}s`,
      ],
    ],
    ['with new rows that another machine may have minted', { ...NOTHING, mayBeMinted: true }, [MISSING_LABEL_NOTE]],
    ['of a known run, on a server without reference IDs', { ...NOTHING, hasReferences: false }, []],
  ])('%s', (_plan, facts, expected) => {
    expect(formatPlanNotes(facts)).toEqual(expected)
  })

  test('the notes of changes that are kept are repeated by gdn mcp, and no note with text of third parties', () => {
    const relabeled = { count: 1, labels: ['gdn keeps 2 changes made outside the manifest'] }
    const repeated = (counts: PlanNoteInputs['counts']) => {
      const notes = formatPlanNotes({ ...NOTHING, relabeled, counts })
      const data = notes.map((reason) => ({ action: 'note', reason }))
      return keptChangesNotes({ code: 0, data, error: null }, (text) => text.replaceAll('--take-over', 'take_over'))
    }
    expect(repeated({ drift: 1, lasting: 1, keptBurns: 0 })).toBe('')
    expect(repeated({ drift: 4, lasting: 1, keptBurns: 1 })).toBe(
      ' gdn keeps 2 changes made outside the manifest. To accept them, enter the current values in the manifest, such as the new owner in the receiver column, and run gdn apply. To replace them with the values of the manifest, add take_over. gdn keeps the NFTs of removed rows if their owners were changed outside the manifest, even with take_over.',
    )
    expect(repeated({ drift: 1, lasting: 0, keptBurns: 0 })).toMatch(
      /^ gdn keeps 1 change made outside the manifest\. .*\.$/,
    )
  })
})
