import { parseReferences } from '../../operations/reconcile/by-reference.ts'
import { looseTitle, possibleOwners, toIdentity } from '../../operations/reconcile/content-and-owners.ts'
import { unresolvedContents } from '../../operations/reconcile/unresolved.ts'
import { assignedNfts } from '../../state/known-nfts.ts'
import {
  listOpenRequests,
  type RowRequest,
  readRowRequest,
  readRowsOfRequest,
  type SentRow,
} from '../../state/row-requests.ts'
import {
  ADOPTED_NFT_LOST_REASON,
  DEPLOYED_NFT_LOST_REASON,
  MARKED_ABSENT_REASON,
  NFT_NOT_RETURNED_REASON,
} from '../runs/results.ts'
import type { StoredRun } from '../runs/stored-run.ts'

/** A sent row whose outcome is unknown. */
export interface UnknownRow {
  id: string
  request: Pick<RowRequest, 'id' | 'n' | 'unknownAfter'>
  identity: string
  title: string
  owners: string[]
  /** `absent`: an earlier search found no NFT. `superseded`: a later request has sent the row again. */
  state: 'unknown' | 'absent' | 'superseded'
  reason: string | null
  /** The reference ID with which the row was sent, or null if there is none. */
  reference: string | null
  /** The reason why the row can't be absent, even if the collection doesn't list its NFT. Null if it can be absent. */
  notAbsentReason: string | null
}

/** The rows of a run that reconciling resolves: sent rows whose outcome is unknown. */
export interface UnresolvedRows {
  rows: UnknownRow[]
  /** Rows that reconciling found earlier. A transferred NFT may belong to one of them. */
  adopted: { identity: string; owners: string[] }[]
  /** Number of rows that the user declared absent. */
  markedAbsentCount: number
  /** Whether the server's record of a row differs from the accepted request. */
  rewritesMetadata: boolean
}

export async function readUnknownRows(run: StoredRun, markerKey: string | undefined): Promise<UnresolvedRows> {
  const open: UnresolvedRows = { rows: [], adopted: [], markedAbsentCount: 0, rewritesMetadata: false }
  for (const id of await run.read((sql) => listOpenRequests(sql, run.id))) {
    const { request, rows } = await run.read((sql) => ({
      request: readRowRequest(sql, id),
      rows: readRowsOfRequest(sql, run.drop, id),
    }))
    if (request.outcome === 'accepted') open.rewritesMetadata = true
    const requestRows = sentRows(request.body, markerKey)
    const references = parseReferences(request.body)
    for (const row of rows) {
      const sentRow = requestRows[row.position]
      if (sentRow === undefined) continue
      const state = unknownState(row, request)
      if (row.nftGdnId !== null) {
        if (request.outcome === 'unknown') open.adopted.push(sentRow)
      } else if (row.state === 'absent' && row.reason === MARKED_ABSENT_REASON) {
        if (row.isCurrent) open.markedAbsentCount++
      } else if (state !== null) {
        const reference = references[row.position] ?? null
        open.rows.push({
          ...sentRow,
          id: row.id,
          request,
          state,
          reason: row.reason,
          reference,
          notAbsentReason: findNotAbsentReason(row, request),
        })
      }
    }
  }
  return open
}

function unknownState({ isCurrent, state }: SentRow, { outcome }: RowRequest): UnknownRow['state'] | null {
  if (!isCurrent) return outcome === 'unknown' ? 'superseded' : null
  return state === 'unknown' || state === 'absent' ? state : null
}

/** Returns why the server must have had an NFT for the row, or null if it may have had none. */
function findNotAbsentReason({ wasDeployed }: SentRow, { outcome }: RowRequest): string | null {
  if (wasDeployed) return DEPLOYED_NFT_LOST_REASON
  if (outcome === 'found') return ADOPTED_NFT_LOST_REASON
  return outcome === 'accepted' ? NFT_NOT_RETURNED_REASON : null
}

function sentRows(sentBody: string, markerKey: string | undefined) {
  const body = JSON.parse(sentBody) as {
    receiver_wallet_address: string
    sender_wallet_address?: string
    metadata: unknown[]
  }
  const { receiver_wallet_address: receiver, sender_wallet_address: sender = null } = body
  const owners = possibleOwners({ receiver, sender })
  return body.metadata.map((metadata) => ({
    owners,
    identity: toIdentity(metadata, markerKey),
    title: looseTitle(metadata),
  }))
}

/** This machine's records of a collection, except those of the run that is being reconciled. */
export interface OtherRecords {
  /** Contents of rows and commands with an unknown outcome. An NFT with the same content may belong to one of them. */
  unresolved: ReadonlySet<string>
  /** The NFTs that are already assigned to rows or commands. */
  given: ReadonlySet<string>
}

export async function readOtherRecords(run: StoredRun, ids: readonly string[]): Promise<OtherRecords> {
  const collection = { ...run.drop, backendId: run.drop.backend.id }
  return await run.read((sql) => ({
    unresolved: unresolvedContents(sql, collection, run.id),
    given: assignedNfts(sql, ids),
  }))
}
