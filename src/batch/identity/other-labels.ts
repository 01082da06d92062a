import { MAX_REFERENCES_PER_REQUEST } from '../../api/endpoints/getreferences.ts'
import { chunksOf } from '../../core/chunks-of.ts'
import { GdnError } from '../../core/errors.ts'
import { listSome } from '../../core/list-some.ts'
import { shortenTo } from '../../core/shorten.ts'
import type { MintOperation } from '../../state/row-requests.ts'
import { type RowLocation, readRowPage, readRowPages } from '../../state/rows.ts'
import { MAX_LISTED_ROWS } from '../rows/max-listed-rows.ts'
import { formatKey, toReferenceId } from '../rows/row-key.ts'
import type { StoredRun } from '../runs/stored-run.ts'
import type { BatchClient, BatchOptions } from '../types.ts'
import { MINT_OPERATIONS, ReferenceLookup } from './server-names.ts'

export const MISSING_LABEL_NOTE =
  'The drop has no label. If another machine minted a row without an ID and the row was edited afterwards, gdn mints the row again'

/** A row whose reference ID belongs to an NFT with a label that differs from the run's label. */
export interface OtherLabel {
  /** The row's key, as shown to users. */
  key: string
  line: number
  nftGdnId: string
  operation: MintOperation
  reference: string
  /** The label that the server stores. */
  label: string
}

/** Returns a record's label if it differs from the run's label. Returns null if both are equal or one is missing. */
export const findOtherLabel = (
  { reference_label: serverLabel }: { reference_label?: string | null | undefined },
  ownLabel: string | null | undefined,
): string | null => (ownLabel == null || serverLabel == null || serverLabel === ownLabel ? null : serverLabel)

/** Returns a list with the row if the label of its NFT differs from the run's label, and an empty list otherwise. */
export function toOtherLabels(
  { key, line }: { key: string; line: number },
  {
    nftGdnId,
    operation,
    reference,
    ...mint
  }: Omit<OtherLabel, 'key' | 'line' | 'label'> & { label: string | null | undefined },
  ownLabel: string | null | undefined,
): OtherLabel[] {
  const label = findOtherLabel({ reference_label: mint.label }, ownLabel)
  return label === null ? [] : [{ key: formatKey(key), line, nftGdnId, operation, reference, label }]
}

const MAX_LABELS = 3
const MAX_LABEL_LENGTH = 100

/**
 * Returns a label as shown in messages: quoted, and shortened if it is long. Another client may have set it to any
 * text.
 */
export const formatLabel = (label: string): string => JSON.stringify(shortenTo(label, MAX_LABEL_LENGTH))

export function formatLabels(labels: Iterable<string>): string {
  const all = [...labels]
  return listSome(all.slice(0, MAX_LABELS).map(formatLabel), all.length)
}

const OTHER_LABEL_HINT = [
  'Nothing was sent. In a collection, manifests with the same file name use the same reference IDs.',
  'If the manifest was moved, add --adopt.',
  'If this manifest is another drop, add --run <name>. gdn then mints its rows as separate NFTs.',
].join('\n')

/**
 * Returns the error for a run that stopped because its rows have another label on the server. Other rows of the run may
 * have been minted before the run stopped.
 */
export const stoppedByLabelError = (message: string) =>
  new GdnError('seems_minted', message, {
    hint: [
      'Rows that were already accepted are still minted. If the manifest was moved, add --adopt.',
      'If this manifest is another drop, move the unsent rows to a separate manifest, and run `gdn batch mint` on that manifest with --run <name>.',
    ].join('\n'),
  })

/** Rows whose NFTs have a label that differs from the run's label. */
interface LabelConflict {
  /** The first such rows, for the message. */
  firstRows: readonly OtherLabel[]
  count: number
  labels: Iterable<string>
  /** The label of the run. */
  ownLabel: string
}

/**
 * Refuses rows whose NFTs have another label, unless `adopt` is set.
 *
 * @throws GdnError `seems_minted`
 */
export function refuseMintedElsewhere(
  labeled: readonly OtherLabel[],
  { label: ownLabel, adopt }: Pick<BatchOptions, 'label' | 'adopt'>,
): void {
  if (ownLabel == null || labeled.length === 0 || adopt === true) return
  throw otherLabelsError({
    firstRows: labeled,
    count: labeled.length,
    labels: new Set(labeled.map(({ label }) => label)),
    ownLabel,
  })
}

/** Returns the error for rows whose NFTs have another label. */
export function otherLabelsError(conflicting: LabelConflict): GdnError {
  const { count, labels, ownLabel } = conflicting
  const rows = count === 1 ? '1 row was' : `${count} rows were`
  return new GdnError(
    'seems_minted',
    `${rows} minted by the run ${formatLabels(labels)}, but this run is ${formatLabel(ownLabel)}`,
    { hint: OTHER_LABEL_HINT, details: detailsOf(conflicting) },
  )
}

/** Returns the error for rows that this machine minted and whose NFTs were relabeled afterwards. */
export function adoptedElsewhereError(conflicting: LabelConflict): GdnError {
  const { count, labels, ownLabel } = conflicting
  const nfts = count === 1 ? 'the NFT of 1 row' : `the NFTs of ${count} rows`
  return new GdnError(
    'seems_minted',
    `${nfts} now belong${count === 1 ? 's' : ''} to the run ${formatLabels(labels)}, but this run is ${formatLabel(ownLabel)}`,
    {
      hint: 'Nothing was sent. After this run minted these NFTs, another machine adopted them, or this machine adopted them for a moved manifest. To adopt them again, add --adopt.',
      details: detailsOf(conflicting),
    },
  )
}

const detailsOf = ({ firstRows, count, ownLabel }: LabelConflict) => ({
  rows: firstRows
    .slice(0, MAX_LISTED_ROWS)
    .map(({ key, line, nftGdnId: nft_gdn_id, label }) => ({ key, line, nft_gdn_id, label })),
  count,
  label: ownLabel,
})

/**
 * Replaces the labels of reference IDs on the server. Repeating the call is safe.
 *
 * @throws GdnError `refused` if the label of a reference ID has changed in the meantime
 */
export async function relabelOnServer(
  client: Pick<BatchClient, 'call'>,
  { contractAddress, blockchain, signal }: Pick<BatchOptions, 'contractAddress' | 'blockchain' | 'signal'>,
  conflicting: readonly Pick<OtherLabel, 'operation' | 'reference' | 'label'>[],
  reference_label: string,
): Promise<void> {
  const groups = new Map<string, { operation: MintOperation; replaces_label: string; ids: string[] }>()
  for (const { operation, reference, label } of conflicting) {
    const key = `${operation} ${label}`
    const group = groups.get(key) ?? { operation, replaces_label: label, ids: [] }
    group.ids.push(reference)
    groups.set(key, group)
  }
  for (const { operation, replaces_label, ids } of groups.values()) {
    for (const reference_ids of chunksOf(ids, MAX_REFERENCES_PER_REQUEST)) {
      await client.call(
        'relabelreferences',
        { operation, contract_address: contractAddress, blockchain, reference_ids, replaces_label, reference_label },
        { signal },
      )
    }
  }
}

const PAGE_SIZE = 1_000

/**
 * Returns the reference IDs of a run whose label on the server differs from the run's current label, because the
 * manifest was moved.
 */
export async function findOutdatedLabels(
  run: StoredRun,
  options: BatchOptions,
  client: BatchClient,
  { rows }: { rows: RowLocation },
): Promise<OtherLabel[]> {
  const { label = null, signal } = options
  if (client.supports('labels') === null) await client.learnCapabilities({ signal })
  if (label === null || client.supports('labels') !== true) return []
  const names = new ReferenceLookup(client, options)
  const labels: OtherLabel[] = []
  for await (const page of readRowPages(
    run.state,
    (sql, after, limit) => readRowPage(sql, rows, after, limit),
    PAGE_SIZE,
  )) {
    const mints = MINT_OPERATIONS.flatMap((operation) =>
      page.map((row) => ({ row, operation, reference: toReferenceId(run.drop, row) })),
    )
    for (const [{ row, ...mint }, { nft_gdn_id, reference_label }] of await names.lookUp(mints)) {
      labels.push(...toOtherLabels(row, { ...mint, nftGdnId: nft_gdn_id ?? '', label: reference_label }, label))
    }
  }
  return labels
}
