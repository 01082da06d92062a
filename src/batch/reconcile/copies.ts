import { referencesOf } from '../../operations/reconcile/by-reference.ts'
import { identityOf, looseTitle } from '../../operations/reconcile/content.ts'
import { ownersOf } from '../../operations/reconcile/owners.ts'
import { openRequests, type RowRequest, readRowRequest, rowsOfRequest, type SentRow } from '../../state/row-requests.ts'
import { ADOPTED_NOT_KNOWN, MARKED_ABSENT, NOT_KNOWN, NOT_SHOWN } from '../runs/results.ts'
import type { RunStore } from '../runs/run-store.ts'

/** A sent row whose outcome isn't known. */
export interface Sending {
  /** The operation, and its request. */
  id: string
  request: Pick<RowRequest, 'id' | 'n' | 'unknownAfter'>
  identity: string
  title: string
  owners: string[]
  /** Absent: not found before. Superseded: the row was sent by another request since. */
  state: 'unknown' | 'absent' | 'superseded'
  reason: string | null
  /** The reference ID that it was sent with; null if it has none. */
  reference: string | null
  /** Why it can't be declared absent, regardless of what the collection lists; null where it can. */
  taken: string | null
}

/** The input of reconciling: the sent rows of a run without a known outcome. */
export interface Open {
  sendings: Sending[]
  /** Rows that were found by reconciling before. An NFT that another owner has now may be one of them. */
  adopted: { identity: string; owners: string[] }[]
  /** Number of rows that the user declared absent. */
  settled: number
  /** Whether the server's record of a row differs from the request that it accepted. */
  rewrites: boolean
}

/** Reads the rows whose outcome isn't known. */
export async function openSendings(store: RunStore, markerKey: string | undefined): Promise<Open> {
  const open: Open = { sendings: [], adopted: [], settled: 0, rewrites: false }
  for (const id of await store.read((sql) => openRequests(sql, store.id))) {
    const { request, rows } = await store.read((sql) => ({
      request: readRowRequest(sql, id),
      rows: rowsOfRequest(sql, store.drop, id),
    }))
    if (request.outcome === 'accepted') open.rewrites = true
    const sent = sentRows(request.body, markerKey)
    const references = referencesOf(request.body)
    for (const row of rows) {
      const said = sent[row.position]
      if (said === undefined) continue
      const state = stateOf(row, request)
      if (row.nftGdnId !== null) {
        if (request.outcome === 'unknown') open.adopted.push(said)
      } else if (row.state === 'absent' && row.reason === MARKED_ABSENT) {
        if (row.isCurrent) open.settled++
      } else if (state !== null) {
        const reference = references[row.position] ?? null
        open.sendings.push({
          ...said,
          id: row.id,
          request,
          state,
          reason: row.reason,
          reference,
          taken: takenBy(row, request),
        })
      }
    }
  }
  return open
}

function stateOf({ isCurrent, state }: SentRow, { outcome }: RowRequest): Sending['state'] | null {
  if (!isCurrent) return outcome === 'unknown' ? 'superseded' : null
  return state === 'unknown' || state === 'absent' ? state : null
}

/** Returns why the server has had an NFT of the row; null if it may never have had one. */
function takenBy({ wasDeployed }: SentRow, { outcome }: RowRequest): string | null {
  if (wasDeployed) return NOT_KNOWN
  if (outcome === 'found') return ADOPTED_NOT_KNOWN
  return outcome === 'accepted' ? NOT_SHOWN : null
}

function sentRows(sentBody: string, markerKey: string | undefined) {
  const body = JSON.parse(sentBody) as {
    receiver_wallet_address: string
    sender_wallet_address?: string
    metadata: unknown[]
  }
  const { receiver_wallet_address: receiver, sender_wallet_address: sender = null } = body
  const owners = ownersOf({ receiver, sender })
  return body.metadata.map((metadata) => ({
    owners,
    identity: identityOf(metadata, markerKey),
    title: looseTitle(metadata),
  }))
}
