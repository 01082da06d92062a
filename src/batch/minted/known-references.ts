import { MAX_IDS_PER_REQUEST } from '../../api/endpoints/getnfts.ts'
import { MAX_REFERENCES_PER_REQUEST } from '../../api/endpoints/getreferences.ts'
import { operationDigest } from '../../api/operation-digest.ts'
import { readNfts } from '../../client/read-records.ts'
import { chunksOf } from '../../core/chunks-of.ts'
import { GdnError } from '../../core/errors.ts'
import type { MintOperation } from '../../state/row-requests.ts'
import { readRowsAt } from '../../state/rows.ts'
import type { RowSet } from '../gather.ts'
import { type OtherLabel, refuseMintedElsewhere, toOtherLabels } from '../identity/other-labels.ts'
import { ReferenceLookup } from '../identity/server-names.ts'
import { listPositions, type RequestPlan } from '../request-plan.ts'
import { type AddedId, findAddedId, formatIdsHint } from '../rows/added-id.ts'
import { type AdoptedRow, parseStoredRow, type StoredRow } from '../rows/manifest-row.ts'
import { createMarkerFactory } from '../rows/marker.ts'
import { MAX_LISTED_ROWS } from '../rows/max-listed-rows.ts'
import { formatKey, toReferenceId } from '../rows/row-key.ts'
import type { StoredRun } from '../runs/stored-run.ts'
import { withMarker } from '../send/request.ts'
import type { BatchClient, BatchOptions } from '../types.ts'
import { refuseOtherContents } from './other-contents.ts'

/** Rows whose reference IDs the server already has. */
export interface RowsOnServer {
  rows: AdoptedRow[]
  /** The rows whose label on the server will be replaced. */
  relabeled: OtherLabel[]
  /** The rows whose NFTs have other content. Empty if the caller has already compared the rows (`keepEdited`). */
  differing: readonly AdoptedRow[]
  notes: string[]
}

/**
 * Returns the rows whose reference IDs the server already has. An earlier run on any machine created them.
 *
 * @returns null if the server doesn't support reference IDs
 * @throws GdnError `edited_rows`, or `seems_minted` if a row's reference ID belongs to an NFT with different content or
 *   another label, unless `adopt` is set
 */
export async function knownReferences(
  run: StoredRun,
  options: BatchOptions,
  client: BatchClient,
  { gathered, plan }: { gathered: RowSet; plan: RequestPlan },
): Promise<RowsOnServer | null> {
  const { adopt, keepEdited, signal } = options
  if (client.supports('references') === null) await client.learnCapabilities({ signal })
  if (client.supports('references') !== true) return null
  const positions = [...listPositions(plan)].sort((a, b) => a - b)
  const adopted: AdoptedRow[] = []
  const unverifiedRows: AdoptedRow[] = []
  const labeled: OtherLabel[] = []
  const rowsWithAddedId: AdoptedWithId[] = []
  const markers = createMarkerFactory(run.drop)
  const names = new ReferenceLookup(client, options)
  for (const page of chunksOf(positions, MAX_REFERENCES_PER_REQUEST)) {
    const records = await run.read((sql) => readRowsAt(sql, gathered.rows, page))
    const byId = new Map(records.map((row) => [toReferenceId(run.drop, row), row]))
    for (const [reference, mint] of await names.findMints([...byId.keys()])) {
      const record = byId.get(reference)
      if (record === undefined) continue
      const { operation, nft_gdn_id: nftGdnId, digest } = mint
      const row = parseStoredRow(record)
      const nft = { row, nftGdnId }
      if (row.row.id === null && typeof mint.reference_alias === 'string') {
        rowsWithAddedId.push({ ...nft, ...(await findAddedId(run, mint.reference_alias, row, { nftGdnId })) })
        continue
      }
      const { reference_label } = mint
      labeled.push(...toOtherLabels(record, { nftGdnId, operation, reference, label: reference_label }, options.label))
      // The reference ID of a row without an ID is derived from its content.
      const isSame = row.row.id === null || computeDigests(operation, row, markers).includes(digest)
      ;(isSame || keepEdited === true ? adopted : unverifiedRows).push(nft)
    }
  }
  if (rowsWithAddedId.length > 0) throw existingIdsError(rowsWithAddedId, run.drop.name)
  refuseMintedElsewhere(labeled, options)
  const knownCount = adopted.length + unverifiedRows.length
  const { notes, differing } = await refuseOtherContents(run, client, options, {
    rows: gathered.rows,
    doubtful: unverifiedRows,
    rowsWithNfts: knownCount,
  })
  const rows = adopted.concat(unverifiedRows)
  if (run.drop.dynamic && adopt !== true) await refuseStaticNfts(client, rows, signal)
  return { rows, relabeled: labeled, differing, notes }
}

const toRowDetails = ({ key, row }: StoredRow) => ({ key: formatKey(key), line: row.line })

const detailsOf = (rows: readonly AdoptedRow[]) => ({
  rows: rows.slice(0, MAX_LISTED_ROWS).map(({ row, nftGdnId }) => ({ ...toRowDetails(row), nft_gdn_id: nftGdnId })),
  count: rows.length,
})

/** Refuses a dynamic drop whose rows were minted as NFTs that can't be updated. */
async function refuseStaticNfts(
  client: BatchClient,
  adopted: readonly AdoptedRow[],
  signal?: AbortSignal,
): Promise<void> {
  const ids = adopted.map(({ nftGdnId }) => nftGdnId)
  const nfts = await readNfts({ client, signal }, ids, MAX_IDS_PER_REQUEST)
  const rows = adopted.filter(({ nftGdnId }) => nfts.get(nftGdnId)?.is_dynamic === false)
  if (rows.length === 0) return
  const many = rows.length === 1 ? '1 row was' : `${rows.length} rows were`
  throw new GdnError('seems_minted', `${many} minted without --dynamic, and can't be updated`, {
    hint: 'Nothing was sent. To send the other rows, run `gdn batch mint` with --adopt. Existing NFTs remain unchanged.',
    details: detailsOf(rows),
  })
}

/**
 * Returns the possible digests of a row: with the receiver's ENS name, and without it, as sent to servers that don't
 * support names.
 */
function computeDigests(
  operation: MintOperation,
  { key, row }: AdoptedRow['row'],
  markers: ReturnType<typeof createMarkerFactory>,
): (string | null | undefined)[] {
  const { receiver: receiver_wallet_address, receiverName, sender: sender_wallet_address } = row
  const metadata = withMarker(row.metadata, markers(key))
  const names = receiverName === undefined ? [undefined] : [receiverName, undefined]
  return names.map((receiver_name) =>
    sender_wallet_address === null
      ? operationDigest('createnft', { metadata, receiver_wallet_address, receiver_name })
      : operationDigest(operation, { metadata, receiver_wallet_address, receiver_name, sender_wallet_address }),
  )
}

type AdoptedWithId = AdoptedRow & AddedId

const MAX_SHOWN_IDS = 5

/**
 * Returns the error for rows without an ID whose NFTs belong to rows that got an ID. The reference IDs of such rows are
 * already in use, so they can't create other NFTs.
 */
function existingIdsError(rows: readonly AdoptedWithId[], run: string): GdnError {
  const many = rows.length === 1 ? '1 row without an ID has' : `${rows.length} rows without an ID have`
  const withId = rows.filter(({ id }) => id !== null)
  const first = withId.slice(0, MAX_SHOWN_IDS).map(({ row, id }) => `\nline ${row.row.line}: add id=${id}`)
  const unlisted = rows.length - first.length
  const more = first.length > 0 && unlisted > 0 ? [`\nand ${unlisted} more`] : []
  return new GdnError(
    'seems_minted',
    [`${many} the same content as NFTs whose rows have IDs`, ...first, ...more].join(''),
    {
      hint: [
        'Nothing was sent. If the rows belong to these NFTs, add the IDs to the rows again. To mint new NFTs, add new IDs to the rows.',
        `${formatIdsHint(rows.some(({ isFromOtherMachine }) => isFromOtherMachine) ? null : run)}.`,
      ].join('\n'),
      details: detailsOf(rows),
    },
  )
}
