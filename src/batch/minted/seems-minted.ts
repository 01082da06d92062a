import { count } from '../../core/count.ts'
import { GdnError } from '../../core/errors.ts'
import { listSome } from '../../core/list-some.ts'
import { isPlaceholder } from '../../manifest/reveal-keys.ts'
import type { StoredRow } from '../rows/manifest-row.ts'
import { MAX_LISTED_ROWS } from '../rows/max-listed-rows.ts'
import { formatKey } from '../rows/row-key.ts'
import type { FoundRow } from './lookup.ts'

/** Returns the error for rows that can't be adopted, because their NFTs may belong to another run or command. */
export const mayBelongToOthersError = (rows: readonly FoundRow[]): GdnError =>
  new GdnError(
    'seems_minted',
    `${rowCountText(rows)} can't be adopted: another run or command sent the same metadata, and its outcome is unknown`,
    {
      hint: 'Nothing was sent. Run `gdn batch list --all` to find that run or command. Resolve its outcome first, or remove it with `gdn batch rm`.',
      details: { rows: rows.slice(0, MAX_LISTED_ROWS).map(toRowDetails), count: rows.length },
    },
  )

/** Returns the error for rows that can't be adopted, because their NFTs belong to other wallets. */
export const belongToOthersError = (rows: readonly FoundRow[], hasReferences: boolean): GdnError =>
  new GdnError(
    'seems_minted',
    `${rowCountText(rows)} can't be adopted: NFTs with the same metadata belong to other wallets and may have been transferred`,
    {
      hint: [
        'Nothing was sent.',
        ...(hasReferences ? [RENAMED_MANIFEST_HINT] : []),
        'If these rows were minted and their NFTs were transferred afterwards, remove the rows, and run the same command again.',
        'To mint the rows anyway, move them to a separate manifest, and run `gdn batch mint` on that manifest with --run <name> --no-lookup.',
      ].join('\n'),
      details: { rows: rows.slice(0, MAX_LISTED_ROWS).map(toRowDetails), count: rows.length },
    },
  )

export const RENAMED_MANIFEST_HINT =
  'If the manifest was renamed after its rows were minted, add --run <former file name>.'

/**
 * Returns the error for rows of an unrevealed drop whose NFTs have other metadata than would be sent.
 *
 * @param flag the flag with which `gdn batch mint` mints the rows anyway
 */
export const seemsMintedAsError = (suffix: string, rows: number, flag: '--no-lookup' | '--again'): GdnError =>
  new GdnError(
    'seems_minted',
    `${count(rows, 'row')} of the manifest ${rows === 1 ? 'seems' : 'seem'} to be in the collection already, ${suffix}`,
    {
      hint: [
        'Nothing was sent.',
        RENAMED_MANIFEST_HINT,
        `To mint all rows anyway, run \`gdn batch mint\` with ${flag}.`,
      ].join('\n'),
      details: { count: rows },
    },
  )

/** Returns the error for rows of an unrevealed drop that another run minted after this run may have sent them. */
export const mintedByOtherRunError = (rows: readonly number[], run: string): GdnError =>
  new GdnError(
    'seems_minted',
    `${count(rows.length, 'row')} of the run ${run} ${rows.length === 1 ? 'was' : 'were'} minted under another run name after this run sent ${rows.length === 1 ? 'it' : 'them'}`,
    {
      hint: `Nothing was sent. To record the NFTs of rows with an unknown outcome, run \`gdn batch reconcile ${run}\`.`,
      details: { lines: rows.slice(0, MAX_LISTED_ROWS), count: rows.length },
    },
  )

const rowCountText = ({ length }: readonly unknown[]): string => count(length, 'row')

const toRowDetails = ({ row, match }: FoundRow) => ({
  key: formatKey(row.key),
  line: row.row.line,
  nft_gdn_id: match.id,
})

interface SeemsMinted {
  run: string
  /** The rows that would be sent, including rows that the collection already has. */
  pending: AsyncIterable<StoredRow>
  /** `new`: the run is new. `forgotten`: the run is resumed, but has no record of the rows. */
  which: 'new' | 'forgotten'
  hasReferences: boolean
}

/** Returns the error for rows whose content is already in the collection. */
export async function seemsMintedError(
  matches: AsyncIterable<FoundRow>,
  { run, pending, which, hasReferences }: SeemsMinted,
): Promise<GdnError> {
  const rows: ReturnType<typeof toRowDetails>[] = []
  const matched = new Set<number>()
  let isUnrevealed = false
  for await (const match of matches) {
    isUnrevealed ||= isPlaceholder(match.row.row.metadata)
    if (rows.length < MAX_LISTED_ROWS) rows.push(toRowDetails(match))
    matched.add(match.row.position)
  }
  const otherLines: number[] = []
  let unlisted = 0
  for await (const { position, row } of pending) {
    if (matched.has(position)) continue
    if (otherLines.length < MAX_LISTED_LINES) otherLines.push(row.line)
    else unlisted++
  }
  const adopt = [
    'To treat these rows as minted, run `gdn batch mint` with --adopt.',
    ...formatUnmatchedLines(otherLines, unlisted),
  ].join(' ')
  const isNew = which === 'new'
  const unknown = isNew ? '' : `, and the run ${run} has no record of them`
  const message = `${count(matched.size, 'row')} of the manifest ${matched.size === 1 ? 'seems' : 'seem'} to be in the collection already${unknown}`
  return new GdnError('seems_minted', message, {
    hint: isNew
      ? [
          'Nothing was sent, and no run was created.',
          ...(hasReferences
            ? [`${RENAMED_MANIFEST_HINT} gdn then also finds the NFTs of edited rows that have an ID.`]
            : []),
          adopt,
          isUnrevealed
            ? 'If this is another drop with the same placeholder, run `gdn batch mint` with --again.'
            : 'To mint all rows anyway, run `gdn batch mint` with --again.',
        ].join('\n')
      : [
          'Nothing was sent. The state directory may be an older copy, or another machine may have minted these rows. Use the newest state directory.',
          adopt,
          'To send all rows anyway, run `gdn batch mint` with --no-lookup.',
        ].join('\n'),
    details: { rows, count: matched.size },
  })
}

const MAX_LISTED_LINES = 10

function formatUnmatchedLines(lines: readonly number[], unlisted: number): string[] {
  if (lines.length === 0) return []
  const listedLines = listSome(lines.map(String), lines.length + unlisted, ' and')
  return [
    lines.length === 1
      ? `Line ${listedLines} would be minted as a new NFT.`
      : `Lines ${listedLines} would be minted as new NFTs.`,
  ]
}

/** Returns the error for rows that would be sent again as absent, although the collection has their NFTs. */
export async function foundAbsentError(matches: AsyncIterable<FoundRow>, run: string): Promise<GdnError> {
  const rows: ReturnType<typeof toRowDetails>[] = []
  let rowCount = 0
  for await (const match of matches) if (rowCount++ < MAX_LISTED_ROWS) rows.push(toRowDetails(match))
  return new GdnError(
    'seems_minted',
    `${count(rowCount, 'absent row')} ${rowCount === 1 ? 'is' : 'are'} now in the collection`,
    {
      hint: `Nothing was sent. Run \`gdn batch reconcile ${run}\` to identify these rows.`,
      details: { rows, count: rowCount },
    },
  )
}

/** Returns the error for rows that another run of this machine minted as unrevealed NFTs, which are revealed now. */
export async function revealedByOthersError(matches: AsyncIterable<FoundRow>): Promise<GdnError> {
  const rows: ReturnType<typeof toRowDetails>[] = []
  let rowCount = 0
  for await (const match of matches) if (rowCount++ < MAX_LISTED_ROWS) rows.push(toRowDetails(match))
  return new GdnError(
    'already_accepted',
    `${count(rowCount, 'row')} of the manifest ${rowCount === 1 ? 'was' : 'were'} minted unrevealed by another run of this collection, and revealed later`,
    {
      hint: [
        `Nothing was sent. ${RENAMED_MANIFEST_HINT}`,
        'To mint the rows a second time, run `gdn batch mint` with --again.',
      ].join('\n'),
      details: { rows, count: rowCount },
    },
  )
}
