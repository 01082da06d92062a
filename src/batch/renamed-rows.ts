import { sentElsewhere } from '../state/edited-rows.ts'
import type { RowsIn } from '../state/rows.ts'
import { MAX_EXAMPLES } from './gather.ts'
import type { Pair } from './identity/pairing.ts'
import type { EarlierMints } from './minted/earlier-mints.ts'
import type { StoredRun } from './runs/stored-run.ts'
import type { ManifestChanges } from './types.ts'

/**
 * Removes the adopted rows whose NFTs this run has already sent as rows that left the manifest. They are the same rows
 * after an edit that doesn't change their reference IDs, so their operations get the new keys.
 */
export async function takeRenamed(store: StoredRun, rows: RowsIn, mints: EarlierMints): Promise<Pair[]> {
  const { drop } = store
  const adopted = new Map(mints.adopted.map(({ nftGdnId, row }) => [nftGdnId, row]))
  if (drop.setId === null || adopted.size === 0) return []
  const sent = await store.read((sql) => sentElsewhere(sql, drop, rows, [...adopted.keys()]))
  const renamed = sent.flatMap(({ id, nftGdnId, operation, mintedAs }): Pair[] => {
    const row = adopted.get(nftGdnId)
    if (!adopted.delete(nftGdnId) || row === undefined) return []
    return [{ row, nftGdnId, operation, reference: mintedAs, mintedAs, label: null, sent: id, alias: 'stored' }]
  })
  mints.adopted = mints.adopted.filter(({ nftGdnId }) => adopted.has(nftGdnId))
  return renamed
}

/**
 * Returns the changes without rows whose key alone changed, because they are neither added nor removed.
 *
 * @param edited renamed rows whose content changed as well
 */
export function withoutRenamed(
  { added, changed, keptAccepted, removed, receivers, examples }: ManifestChanges,
  renamed: readonly Pair[],
  edited: readonly Pair[],
): ManifestChanges {
  const lines = new Set(renamed.map(({ row }) => row.row.line))
  const titles = new Set(renamed.map(({ row }) => row.row.metadata.title))
  const others = examples.filter(
    ({ kind, line, key }) => kind === 'changed' || !(kind === 'added' ? lines.has(line) : titles.has(key)),
  )
  const ofEdited = edited.map(({ row: { row } }) => {
    return { kind: 'changed' as const, key: row.id ?? row.metadata.title, line: row.line }
  })
  return {
    added: Math.max(0, added - renamed.length),
    changed: changed + edited.length,
    keptAccepted: keptAccepted + edited.length,
    removed: Math.max(0, removed - renamed.length),
    receivers,
    examples: [...others, ...ofEdited].slice(0, MAX_EXAMPLES),
  }
}
