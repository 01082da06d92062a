import { expect, test } from 'vitest'
import type { VerifiedRow } from '../../../src/cli/batch/verify/verify-rows.ts'
import { VerifyTally } from '../../../src/cli/batch/verify/verify-tally.ts'
import type { Io } from '../../../src/cli/io/io.ts'

/** Returns the warning about rows that changed since the mint. A row without a line was removed from the manifest. */
function warningOf(...rows: { line: number; title: string; isRemoved?: boolean }[]): string {
  const tally = new VerifyTally()
  for (const { isRemoved = false, ...result } of rows) {
    const row = isRemoved ? null : {}
    tally.add({ result, row, removed: null, verification: { verified: null, changed: 'burned' } } as VerifiedRow)
  }
  const warnings: string[] = []
  tally.warn({ warn: (text) => void warnings.push(text), note: () => {} } as Partial<Io> as Io)
  return warnings.join('\n')
}

test('rows that were removed are named by their titles, since another row may be on their line', () => {
  const kept = { line: 3, title: 'Dusk' }
  const removed = { line: 3, title: 'Dawn', isRemoved: true }
  expect(warningOf(kept)).toContain('(line 3).')
  expect(warningOf(removed)).toContain('(no longer in the manifest: Dawn).')
  expect(warningOf(removed, kept)).toContain('(line 3; no longer in the manifest: Dawn).')
  const many = Array.from({ length: 7 }, (_, at) => ({ ...removed, title: `T${at}` }))
  expect(warningOf(...many)).toContain('(no longer in the manifest: T0, T1, T2, T3, T4 and 2 more).')
})
