import { GdnError } from '../../core/errors.ts'
import { readNfts } from '../../operations/reconcile/listing.ts'
import type { Sql } from '../../sqlite/shared-database.ts'
import { isGivenElsewhere } from '../../state/known-nfts.ts'
import { giveNft, markAbsent } from '../../state/row-outcomes.ts'
import type { OperationState } from '../../state/transitions.ts'
import { ABSENT_BY_WORD } from '../results.ts'
import type { RunContext } from '../run-context.ts'
import type { RunStore } from '../run-store.ts'
import type { BatchOptions } from '../types.ts'

type Word = NonNullable<BatchOptions['settle']>[number]

const wrong = (message: string, hint: string) => new GdnError('usage', message, { place: { flag: '--row' }, hint })

/**
 * Records a person's decision on rows whose outcome is unknown. Records all of them, or none if one is invalid.
 *
 *
 * @throws GdnError `usage`
 */
export async function settleByWord(context: RunContext, words: readonly Word[]): Promise<void> {
  const { store } = context
  const settled = await store.read((sql) => words.map((word) => ({ ...word, id: operationOf(sql, store, word.key) })))
  if (new Set(settled.map(({ id }) => id)).size < settled.length) {
    throw wrong('a row is repeated in --row', 'Give each row once.')
  }
  const ids = settled.flatMap(({ nftGdnId }) => (nftGdnId === null ? [] : [nftGdnId]))
  if (!(await checkIds(context, ids))) return
  await store.write((sql) => {
    for (const { id, nftGdnId } of settled) {
      if (nftGdnId === null) markAbsent(sql, id, ABSENT_BY_WORD)
      else giveNft(sql, id, nftGdnId, { now: Date.now(), by: 'found' })
    }
  })
  await store.recount()
  context.emitRows()
}

/** The operation of a row whose outcome is unknown. */
function operationOf(sql: Sql, { drop }: RunStore, key: string): string {
  const rows = sql.all<{ id: string; state: OperationState }>(
    'SELECT id, state FROM operations WHERE run_id = ? AND identity IN (?, ?) AND released_at IS NULL',
    drop.id,
    `${drop.scope}id:${key}`,
    `${drop.scope}row:${key}`,
  )
  const [row] = rows
  if (row === undefined) {
    const planned = sql.get(
      'SELECT 1 FROM rows WHERE set_id = ? AND key IN (?, ?)',
      drop.setId ?? -1,
      `id:${key}`,
      `row:${key}`,
    )
    if (planned === undefined)
      throw wrong(`there is no row ${key} in this run`, `Run \`gdn batch results\` to list the keys.`)
  }
  if (row === undefined || (row.state !== 'unknown' && row.state !== 'absent')) {
    throw wrong(`the outcome of the row ${key} is known`, 'Use --row only for rows whose outcome is unknown.')
  }
  return row.id
}

/** Returns false if the run was stopped meanwhile. */
async function checkIds(context: RunContext, ids: readonly string[]): Promise<boolean> {
  const { options, asker, store } = context
  for (const id of ids) {
    if (await store.read((sql) => isGivenElsewhere(sql, id))) {
      throw wrong(`${id} is already the NFT of another row`, 'Run `gdn batch results` to show the NFT of each row.')
    }
  }
  if (new Set(ids).size < ids.length) throw wrong('one NFT is given for two rows', 'Give each row its own NFT.')
  const places = new Map<string, string | null>()
  const finished = await readNfts(asker, ids, (nfts) => {
    for (const nft of nfts) places.set(nft.nft_gdn_id, nft.contract_address ?? null)
  })
  if (!finished) return false
  for (const id of ids) {
    const contract = places.get(id)
    if (contract === undefined) throw wrong(`the server has no NFT ${id}`, 'Run `gdn nft list` to list the NFTs.')
    if (contract !== null && contract.toLowerCase() !== options.contractAddress.toLowerCase()) {
      throw wrong(`${id} is in another collection`, 'Run `gdn nft list` to list the NFTs of this collection.')
    }
  }
  return true
}
