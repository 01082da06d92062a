import { MAX_IDS_PER_REQUEST } from '../api/endpoints/getnfts.ts'
import { operationDigest } from '../api/operation-digest.ts'
import { readNfts } from '../client/read-records.ts'
import { GdnError } from '../core/errors.ts'
import { ownersOf } from '../operations/reconcile/owners.ts'
import type { MintOperation } from '../state/row-requests.ts'
import { rowsAt } from '../state/rows.ts'
import { MAX_NAMED } from './claim.ts'
import type { Gathered } from './gather.ts'
import { type Adopted, keptRow } from './manifest-row.ts'
import { markerOf } from './marker.ts'
import { type OtherLabel, otherLabelOf, otherLabels } from './other-labels.ts'
import { type Plan, positionsOf } from './plan.ts'
import { RowLookup } from './reconcile/lookup.ts'
import { withMarker } from './request.ts'
import { referenceId, shownKey } from './row-key.ts'
import type { RunStore } from './run-store.ts'
import type { BatchClient, BatchOptions } from './types.ts'

const PER_CALL = 1_000

/** Rows that the server knows. */
export interface KnownRows {
  rows: Adopted[]
  /** The rows whose label on the server is replaced. */
  relabeled: OtherLabel[]
}

/**
 * Returns the rows that the server knows by their reference IDs: an earlier run, on any machine, created them.
 *
 * @returns null where the server doesn't announce reference IDs
 * @throws GdnError `seems_minted` where the ID of a row names an NFT with other content or of another label, unless it
 *   is to be adopted
 */
export async function knownReferences(
  store: RunStore,
  { contractAddress, blockchain, label = null, adopt, keepEdited, signal }: BatchOptions,
  client: BatchClient,
  { gathered, plan }: { gathered: Gathered; plan: Plan },
): Promise<KnownRows | null> {
  if (client.supportsReferences() === null) await client.learnIdempotency({ signal })
  if (client.supportsReferences() !== true) return null
  const positions = [...positionsOf(plan)].sort((a, b) => a - b)
  const adopted: Adopted[] = []
  const doubtful: Adopted[] = []
  const labeled: OtherLabel[] = []
  const named: Adopted[] = []
  const markers = markerOf(store.drop)
  for (let from = 0; from < positions.length; from += PER_CALL) {
    const page = positions.slice(from, from + PER_CALL)
    const records = await store.read((sql) => rowsAt(sql, gathered.rows, page))
    const byId = new Map(records.map((row) => [referenceId(store.drop.referenceScope, row.reference ?? row.key), row]))
    // A row may have got or lost its sender since its mint.
    for (const operation of ['createnft', 'createnfttrans'] as const) {
      if (byId.size === 0) continue
      const { references } = await client.call(
        'getreferences',
        { operation, reference_ids: [...byId.keys()], contract_address: contractAddress, blockchain },
        { signal },
      )
      for (const reference of references) {
        const { reference_id, nft_gdn_id, is_free, digest } = reference
        const record = byId.get(reference_id)
        if (record === undefined || is_free || typeof nft_gdn_id !== 'string') continue
        byId.delete(reference_id)
        const row = keptRow(record)
        if (row.row.id === null && typeof reference.reference_alias === 'string') {
          named.push({ row, nftGdnId: nft_gdn_id })
          continue
        }
        const found = { row, nftGdnId: nft_gdn_id }
        const other = otherLabelOf(reference, label)
        if (other !== null) {
          const { key, row: manifestRow } = row
          labeled.push({
            key: shownKey(key),
            line: manifestRow.line,
            nftGdnId: nft_gdn_id,
            operation,
            reference: reference_id,
            label: other,
          })
        }
        // Without an ID of its own, the content of the row is part of its reference ID.
        const isSame = row.row.id === null || digest === digestOf(operation, row, markers)
        ;(isSame || adopt === true || keepEdited === true ? adopted : doubtful).push(found)
      }
    }
  }
  if (named.length > 0) throw haveIds(named)
  if (label !== null && labeled.length > 0 && adopt !== true) {
    throw otherLabels(labeled, labeled.length, new Set(labeled.map((one) => one.label)), label)
  }
  const others = await otherContents(store, client, signal, doubtful)
  if (others.length > 0) throw otherNfts(others)
  const found = [...adopted, ...doubtful]
  if (store.drop.dynamic && adopt !== true) await refuseOthers(client, found, signal)
  return { rows: found, relabeled: labeled }
}

/** Refuses a dynamic drop whose rows were minted as NFTs that can't be updated. */
async function refuseOthers(client: BatchClient, found: readonly Adopted[], signal?: AbortSignal): Promise<void> {
  const ids = found.map(({ nftGdnId }) => nftGdnId)
  const nfts = await readNfts({ client, signal }, ids, MAX_IDS_PER_REQUEST)
  const rows = found.filter(({ nftGdnId }) => nfts.get(nftGdnId)?.is_dynamic === false)
  if (rows.length === 0) return
  const many = rows.length === 1 ? '1 row was' : `${rows.length} rows were`
  throw new GdnError('seems_minted', `${many} minted without --dynamic, and can't be updated`, {
    hint: 'Nothing was sent. To send the other rows, run `gdn batch mint <manifest> --adopt`. The NFTs that exist stay as they are.',
    details: {
      rows: rows
        .slice(0, MAX_NAMED)
        .map(({ row: { key, row }, nftGdnId }) => ({ key: shownKey(key), line: row.line, nft_gdn_id: nftGdnId })),
      count: rows.length,
    },
  })
}

function digestOf(
  operation: MintOperation,
  { key, row }: Adopted['row'],
  markers: ReturnType<typeof markerOf>,
): string {
  const { receiver: receiver_wallet_address, sender: sender_wallet_address } = row
  const metadata = withMarker(row.metadata, markers(key))
  return sender_wallet_address === null
    ? operationDigest('createnft', { metadata, receiver_wallet_address })
    : operationDigest(operation, { metadata, receiver_wallet_address, sender_wallet_address })
}

/** Rows whose NFTs have other content, by metadata and owners. The URL of a local file makes no difference. */
async function otherContents(
  store: RunStore,
  client: BatchClient,
  signal: AbortSignal | undefined,
  found: readonly Adopted[],
): Promise<Adopted[]> {
  const rows = async function* () {
    for (const { row } of found) yield row
  }
  const lookup = new RowLookup(rows, store.drop.marker ?? undefined)
  const ids = found.map(({ nftGdnId }) => nftGdnId)
  await lookup.read({ client, signal }, ids, () => {})
  const same = new Set<number>()
  for await (const { row, match } of lookup.found()) {
    const owners = ownersOf(row.row)
    // A transfer that was applied on another machine gives the NFT the owner of the row.
    const isHolder = match.holder !== null && owners.includes(match.holder)
    if (match.owner === null || isHolder || owners.includes(match.owner)) same.add(row.position)
  }
  return found.filter(({ row }) => !same.has(row.position))
}

/** Rows without an ID whose NFTs got one. Their reference IDs can't create others. */
function haveIds(found: readonly Adopted[]): GdnError {
  const many = found.length === 1 ? '1 row without an ID has' : `${found.length} rows without an ID have`
  return new GdnError('seems_minted', `${many} the content of NFTs whose rows got IDs`, {
    hint: 'Nothing was sent. If they are these NFTs, add their IDs to the rows again. To mint new ones, give the rows other IDs.',
    details: {
      rows: found
        .slice(0, MAX_NAMED)
        .map(({ row: { key, row }, nftGdnId }) => ({ key: shownKey(key), line: row.line, nft_gdn_id: nftGdnId })),
      count: found.length,
    },
  })
}

function otherNfts(others: readonly Adopted[]): GdnError {
  const many = others.length === 1 ? '1 row has an ID' : `${others.length} rows have IDs`
  return new GdnError('seems_minted', `${many} under which this collection has NFTs with other content`, {
    hint: [
      'Nothing was sent. Another manifest of this name may have been minted, or the rows were edited since.',
      'To mint them as a separate run, add --run <name>.',
      'To treat the NFTs as these rows, add --adopt.',
    ].join('\n'),
    details: {
      rows: others.slice(0, MAX_NAMED).map(({ row: { key, row }, nftGdnId }) => ({
        key: shownKey(key),
        line: row.line,
        nft_gdn_id: nftGdnId,
      })),
      count: others.length,
    },
  })
}
