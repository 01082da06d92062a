import { GdnError } from '../../core/errors.ts'
import { readNfts } from '../../operations/reconcile/listing.ts'
import type { Ledger } from '../ledger.ts'
import { ROW } from '../row-table.ts'
import type { RunContext } from '../run-context.ts'
import type { BatchOptions } from '../types.ts'
import type { IdSet } from './id-set.ts'
import { recordOf } from './record-of.ts'

type Word = NonNullable<BatchOptions['settle']>[number]

const wrong = (message: string, hint: string) => new GdnError('usage', message, { place: { flag: '--row' }, hint })

/**
 * Takes a person's word on rows whose outcome isn't known: all of it, or none where one of them can't be.
 *
 * @param given ids that other runs and commands were given
 * @throws GdnError `usage`
 */
export async function settleByWord(context: RunContext, words: readonly Word[], given: IdSet): Promise<void> {
  const { ledger, records } = context
  const settled = words.map((word) => ({ ...word, ...placeOf(ledger, word.key) }))
  if (new Set(settled.map(({ row }) => row)).size < settled.length) {
    throw wrong('a row stands in --row twice', 'say of each row one thing')
  }
  const ids = settled.flatMap(({ nftGdnId }) => (nftGdnId === null ? [] : [nftGdnId]))
  if (!(await checkIds(context, ids, given))) return
  for (const n of new Set(settled.map(({ request }) => request))) {
    const record = await recordOf(ledger, records, n)
    for (const { position, nftGdnId } of settled.filter(({ request }) => request === n)) {
      record.absent = record.absent.filter(([at]) => at !== position)
      record.undecided = record.undecided.filter(([at]) => at !== position)
      if (nftGdnId === null) record.absent.push([position, 'person'])
      else record.ids[position] = nftGdnId
    }
    await context.record(record, true)
  }
  context.emitRows()
}

function placeOf(ledger: Ledger, key: string) {
  const row = [`id:${key}`, `row:${key}`].map((full) => ledger.rows.find(full)).find((found) => found >= 0)
  if (row === undefined) throw wrong(`there is no row ${key} in this run`, 'gdn batch results shows the keys')
  const place = ledger.sentBy(row)
  const state = ledger.state(row)
  if (place === null || (state !== ROW.unknown && state !== ROW.absent)) {
    throw wrong(`the outcome of the row ${key} is known`, 'only of rows whose outcome is unknown a word is needed')
  }
  return { row, ...place }
}

/** False when the run was stopped meanwhile. */
async function checkIds(context: RunContext, ids: readonly string[], given: IdSet): Promise<boolean> {
  const { options, asker } = context
  for (const id of ids) {
    if (given.has(id) || (await belongsToRow(context, id))) {
      throw wrong(`${id} is another row's NFT already`, 'gdn batch results shows which row has which NFT')
    }
  }
  if (new Set(ids).size < ids.length) throw wrong('one NFT stands for two rows', 'give each row an NFT of its own')
  const places = new Map<string, string | null>()
  const finished = await readNfts(asker, ids, (nfts) => {
    for (const nft of nfts) places.set(nft.nft_gdn_id, nft.contract_address ?? null)
  })
  if (!finished) return false
  for (const id of ids) {
    const contract = places.get(id)
    if (contract === undefined) throw wrong(`the server knows no NFT ${id}`, 'gdn nft list shows those there are')
    if (contract !== null && contract.toLowerCase() !== options.contractAddress.toLowerCase()) {
      throw wrong(`${id} is in another collection`, 'gdn nft list shows those of this one')
    }
  }
  return true
}

/** An answer may have given an id that no row was found to have: that one is free. */
async function belongsToRow({ ledger, records }: RunContext, id: string): Promise<boolean> {
  if (!ledger.ids.has(id)) return false
  for (let n = 1; n <= ledger.lastRequest; n++) {
    if (!ledger.hasAnswer(n)) continue
    const { ids } = await ledger.readAnswer(records, n)
    if (ids?.includes(id) === true) return true
  }
  return false
}
