import { flagError } from '../../core/errors.ts'
import { readRecords } from '../../operations/reconcile/listing.ts'
import type { Sql } from '../../sqlite/shared-database.ts'
import { assignedNfts } from '../../state/known-nfts.ts'
import { listOperationsOfKey, markAbsent, recordNft } from '../../state/row-outcomes.ts'
import { isPlannedKey } from '../../state/rows.ts'
import { MARKED_ABSENT_REASON } from '../runs/results.ts'
import type { RunContext } from '../runs/run-context.ts'
import type { StoredRun } from '../runs/stored-run.ts'
import type { BatchOptions } from '../types.ts'

type RowMark = NonNullable<BatchOptions['settle']>[number]

const rowError = (message: string, hint: string) => flagError('--row', message, hint)

/**
 * Records the user's decisions on rows whose outcome is unknown. If any decision is invalid, records none.
 *
 * @throws GdnError `usage`
 */
export async function markRows(context: RunContext, marks: readonly RowMark[]): Promise<void> {
  const { run } = context
  const settled = await run.read((sql) => marks.map((mark) => ({ ...mark, id: findOperation(sql, run, mark.key) })))
  if (new Set(settled.map(({ id }) => id)).size < settled.length) {
    throw rowError('a row is repeated in --row', 'Specify each row only once.')
  }
  const ids = settled.flatMap(({ nftGdnId }) => (nftGdnId === null ? [] : [nftGdnId]))
  try {
    await checkIds(context, ids)
  } catch (error) {
    if (context.halt.aborted) return
    throw error
  }
  await run.write((sql) => {
    for (const { id, nftGdnId } of settled) {
      if (nftGdnId === null) markAbsent(sql, id, MARKED_ABSENT_REASON)
      else recordNft(sql, id, nftGdnId, { now: Date.now(), by: 'found' })
    }
  })
  await run.recount()
  context.emitRows()
}

/**
 * Returns the operation of a row whose outcome is unknown.
 *
 * @throws GdnError `usage`
 */
function findOperation(sql: Sql, { drop }: StoredRun, key: string): string {
  const [row] = listOperationsOfKey(sql, drop, key)
  if (row === undefined && !isPlannedKey(sql, drop.setId, key)) {
    throw rowError(`there is no row ${key} in this run`, 'Run `gdn batch results` to list the keys.')
  }
  if (row === undefined || (row.state !== 'unknown' && row.state !== 'absent')) {
    throw rowError(
      `the outcome of the row ${key} is already known`,
      'Use --row only for rows whose outcome is unknown.',
    )
  }
  return row.id
}

async function checkIds({ options, source, run }: RunContext, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    if (await run.read((sql) => assignedNfts(sql, [id]).size > 0)) {
      throw rowError(`${id} is already the NFT of another row`, 'Run `gdn batch results` to show the NFT of each row.')
    }
  }
  if (new Set(ids).size < ids.length)
    throw rowError('the same NFT is specified for two rows', 'Specify a different NFT for each row.')
  const records = await readRecords(source, ids)
  for (const id of ids) {
    const record = records.get(id)
    if (record === undefined) throw rowError(`the server has no NFT ${id}`, 'Run `gdn nft list` to list the NFTs.')
    const contract = record.contract_address?.toLowerCase()
    if (contract !== undefined && contract !== options.contractAddress.toLowerCase()) {
      throw rowError(`${id} is in another collection`, 'Run `gdn nft list` to list the NFTs of this collection.')
    }
  }
}
