import type { Sql } from '../../sqlite/shared-database.ts'
import type { Drop } from '../../state/drops.ts'
import {
  type OutcomeColumns,
  type OutcomeRow,
  type OutsideRow,
  outcomesPage,
  readOutcomesOutsideManifest,
} from '../../state/row-results.ts'
import { STATUS } from '../rows/row-counts.ts'
import { formatKey } from '../rows/row-key.ts'
import { parseStoredParty, splitRowText } from '../rows/row-text.ts'
import type { ResultRow } from '../types.ts'

/** Prefix of the error of a row whose NFT isn't in the collection. */
export const ABSENT_PREFIX = 'absent: '
export const UNDECIDED_PREFIX = 'undecided: '
/**
 * Prefix of the error of a row that may have been minted twice. The rest of the error is the reason, which ends with
 * the ID of the other NFT.
 */
export const MINTED_TWICE_PREFIX = 'possibly minted twice: '
const LATE_NFT = `${MINTED_TWICE_PREFIX}gdn found no NFT of the first request, but that request or another client minted an NFT with the same metadata: `
const OTHER_RUN_PREFIX = `${MINTED_TWICE_PREFIX}the run `

/** Prefix of the error of an accepted row whose NFT hasn't been minted yet. */
const WAITING_PREFIX = 'waiting: '

/** The reason for an undecided row whose request was accepted. */
export const NFT_NOT_RETURNED_REASON = 'the server accepted the request, but returns no NFT with this metadata'

/** The reason for an undecided row whose NFT was deployed before the backend was restored. */
export const DEPLOYED_NFT_LOST_REASON =
  'the NFT of the row was deployed, but the backend was restored from a backup and no longer has the NFT'

/**
 * The reason for an undecided row that this run adopted before the backend was restored. Its NFT may have been
 * deployed.
 */
export const ADOPTED_NFT_LOST_REASON =
  'the row was minted before this run, but the backend was restored from a backup and no longer has the NFT'

/** The reasons why a row counts as absent, keyed by evidence. */
export const ABSENCE_REASONS = {
  later_rows: `${ABSENT_PREFIX}the NFT is not in the collection, but NFTs of rows that were sent later are`,
  time_alone: `${ABSENT_PREFIX}the NFT did not appear in the collection in time, and no NFT of a later row confirms that it is missing`,
  person: `${ABSENT_PREFIX}you marked the row as not minted`,
} as const
export const MARKED_ABSENT_REASON = ABSENCE_REASONS.person

/**
 * Returns a page of the manifest's rows with their outcomes.
 *
 * @param page.after the position before the first row of the page
 * @param page.live whether a process is sending, so that requests in flight don't count as unknown
 */
export function resultsPage(
  sql: Sql,
  drop: Drop,
  page: { after: number; limit: number; live: boolean },
): ({ result: ResultRow } & Pick<OutcomeRow, 'position' | 'key'> & { parts: string[] })[] {
  return outcomesPage(sql, drop, page).map((row) => {
    const { position, line, key } = row
    const parts = splitRowText(row.body)
    const [receiver = '', , title = ''] = parts
    const shownRow = { key, line, title, receiver: parseStoredParty(receiver).address, contract: drop.contract }
    const result = rowResult(row, shownRow, page.live)
    // Don't use a spread: for 200,000 rows, it takes 14 MB more, because V8 allocates a hidden class for each object.
    return { position, key, parts, result }
  })
}

/**
 * Returns the rows that were removed from the manifest after they were sent, with their stored text if the state has
 * it.
 */
export function readResultsOutsideManifest(
  sql: Sql,
  drop: Drop,
  live: boolean,
): ({ result: ResultRow } & Pick<OutsideRow, 'key'> & { parts: string[] | null })[] {
  return readOutcomesOutsideManifest(sql, drop).map((row) => {
    const { key, line, body } = row
    const parts = body === null ? null : splitRowText(body)
    const shownRow = { key, line, ...readOutsideDetails(row, parts), contract: drop.contract }
    return { key, parts, result: rowResult(row, shownRow, live) }
  })
}

function readOutsideDetails(
  { request, place }: OutsideRow,
  parts: string[] | null,
): Pick<RowDetails, 'title' | 'receiver'> {
  if (parts !== null) {
    const [receiver = '', , title = ''] = parts
    return { title, receiver: parseStoredParty(receiver).address }
  }
  const { receiver_wallet_address: receiver, metadata } = JSON.parse(request) as {
    receiver_wallet_address: string
    metadata: { title: string }[]
  }
  return { title: metadata[place]?.title ?? null, receiver }
}

interface RowDetails {
  key: string
  line: number
  title: string | null
  receiver: string
  contract: string
}

export const unsentResult = ({ key, line, title, receiver, contract }: RowDetails): ResultRow => ({
  key: formatKey(key),
  line,
  title,
  status: 'pending',
  nft_gdn_id: null,
  token_id: null,
  error: null,
  contract_address: contract,
  receiver_wallet_address: receiver,
  metadata_url: null,
  burned: false,
})

export function rowResult(row: OutcomeColumns, shownRow: RowDetails, live: boolean): ResultRow {
  const { state } = row
  const base = unsentResult(shownRow)
  if (state === null || STATUS[state] === 'pending' || (live && state === 'sent')) return base
  const duplicate = row.duplicate === null ? null : OTHER_RUN_PREFIX + row.duplicate
  const twice = row.twice === null ? duplicate : LATE_NFT + row.twice
  const reason = state === 'sent' || state === 'unknown' || state === 'absent' || state === 'failed' ? row.reason : null
  const waiting = state === 'accepted' && row.error !== null ? WAITING_PREFIX + row.error : null
  return {
    ...base,
    status: STATUS[state],
    nft_gdn_id: row.nft_gdn_id,
    token_id: row.token_id,
    error: waiting === null ? (row.error ?? reason ?? twice) : (twice ?? waiting),
    contract_address: row.contract ?? shownRow.contract,
    receiver_wallet_address: row.owner ? row.owner : shownRow.receiver,
    metadata_url: row.metadata_url,
    burned: row.is_burned === 1,
  }
}
