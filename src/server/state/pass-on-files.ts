import { sql } from 'kysely'
import { rowsAsTable } from '../store/dialect.ts'
import type { FileWork } from '../store/nfts.ts'
import type { Db } from '../store/schema.ts'
import { indexFiles } from '../store/title-index.ts'

/**
 * A claimed row of the file step, and its files by key: the IPFS path, or the URL of a file that isn't in the backend's
 * storage.
 */
export interface StoredFiles {
  claimed: FileWork
  files: Readonly<Record<string, string>>
}

/**
 * Records the stored files of NFTs and updates, and ends their claims. The NFTs can then be minted and searched by
 * their files, and the updates can be signed. Returns the rows whose claims weren't lost.
 */
export async function passOnFiles(db: Db, stored: readonly StoredFiles[]): Promise<FileWork[]> {
  const nfts = await passOn(db, 'nfts', 'mint', stored)
  await indexFiles(db, nfts)
  const updates = await passOn(db, 'updates', 'sign', stored)
  return [...nfts, ...updates].map(({ claimed }) => claimed)
}

async function passOn(
  db: Db,
  table: FileWork['table'],
  step: 'mint' | 'sign',
  stored: readonly StoredFiles[],
): Promise<StoredFiles[]> {
  const ofTable = stored.filter(({ claimed }) => claimed.table === table)
  if (ofTable.length === 0) return []
  const inputRows = rowsAsTable(
    db,
    { seq: 'bigint', generation: 'bigint', files: 'text' },
    ofTable.map(({ claimed: { seq, generation }, files }) => [seq, generation, JSON.stringify(files)]),
  )
  const [rows, seq] = [sql.table(table), sql.ref(`${table}.seq`)]
  const passed = await sql<{ seq: number }>`
    update ${rows} set step = ${sql.lit(step)}, files = given.files, attempts = 0, error = null, lease_until = 0
    from ${inputRows} as given
    where ${seq} = given.seq and ${rows}.generation = given.generation and ${rows}.step = 'files'
    returning ${seq}`.execute(db)
  const seqs = new Set(passed.rows.map((row) => Number(row.seq)))
  return ofTable.filter(({ claimed }) => seqs.has(claimed.seq))
}
