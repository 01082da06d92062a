/** The IDs of the objects that a server accepted, as its response lists them. */
export interface AcceptedIds {
  /** The requested NFTs. Empty if the request creates no NFTs. */
  nfts: { nft_gdn_id: string; accepted_date: string }[]
  /** ID of the transaction that transfers an NFT, creates a collection or makes another change; null for NFTs. */
  transaction_gdn_id: string | null
  accepted_date: string | null
}

/**
 * Describes an endpoint that creates something. Clients use this description to ensure that a request takes effect at
 * most once, even if the response is lost.
 */
export interface Creation<Request = unknown, Response = unknown> {
  /** Returns why a well-formed response doesn't prove that the request was accepted; null if it does. */
  problem(request: Request, response: Response): string | null
  accepted(response: Response): AcceptedIds
  /**
   * The endpoint that returns the status of a response's `transaction_gdn_id`; null if the response has NFTs instead.
   */
  readonly transactionsFrom: 'getcollections' | 'gettransactions' | null
  /** The place to look for a request's effect if its outcome is unknown and it can't be repeated. */
  readonly effect: VisibleEffect
  /** Hints for a request with an unknown outcome. */
  readonly hints: {
    /** Hint after a single request: what to check before repeating the request. */
    readonly request: string
    /** Hint after a command that records its request. */
    readonly command: string
  }
}

/**
 * The visible effect of a request. `collection`: the collection has new NFTs. `owner`: the NFT has a new owner. `none`:
 * no visible effect, for the given reason.
 */
export type VisibleEffect = { readonly in: 'collection' | 'owner' } | { readonly in: 'none'; readonly reason: string }

/** Hint for commands that, if repeated, check the outcome of their previous request. */
export const REPEAT_LATER_HINT =
  'Run the same command again later. The command checks the outcome before it sends anything.'

/**
 * Returns a response body whose accepted NFTs are in `nfts`. The hosted service's v1.2 API lists them in `response`.
 */
export function normalizeNftsResponse(json: unknown): unknown {
  if (typeof json !== 'object' || json === null || 'nfts' in json || !('response' in json)) return json
  const { response, ...rest } = json
  return Array.isArray(response) ? { ...rest, nfts: response } : json
}

interface NftsResponse {
  nfts: readonly { nft_gdn_ids: string; accepted_date: string; reference_id?: string | undefined }[]
}

interface NftsRequest {
  metadata: readonly unknown[]
  reference_ids?: readonly string[] | undefined
}

/** The description of the endpoints that create NFTs. */
export const nftCreation: Creation<NftsRequest, NftsResponse> = {
  problem({ metadata, reference_ids }, { nfts }) {
    const ids = nfts.map((nft) => nft.nft_gdn_ids)
    if (ids.length !== metadata.length) return `${ids.length} IDs for ${metadata.length} NFTs`
    if (new Set(ids).size !== ids.length) return 'the same ID for several NFTs'
    if (ids.includes('')) return 'an NFT without an ID'
    return nfts.some(({ reference_id }, i) => isOtherReference(reference_id, reference_ids?.[i]))
      ? OTHER_REFERENCE_PROBLEM
      : null
  },
  accepted: ({ nfts }) => ({
    nfts: nfts.map(({ nft_gdn_ids, accepted_date }) => ({ nft_gdn_id: nft_gdn_ids, accepted_date })),
    transaction_gdn_id: null,
    accepted_date: null,
  }),
  transactionsFrom: null,
  effect: { in: 'collection' },
  hints: {
    request: 'Run `gdn nft list` to check whether the NFTs exist: a second request would mint them again.',
    command: REPEAT_LATER_HINT,
  },
}

interface TransactionResponse {
  response: { transaction_gdn_id: string; accepted_date: string; reference_id?: string | undefined }
}

/** Returns why a response doesn't prove that a transfer or a collection was accepted; null if it does. */
export function transactionProblem(
  request: { reference_id?: string | undefined },
  { response }: TransactionResponse,
): string | null {
  if (response.transaction_gdn_id === '') return 'a transaction without an ID'
  return isOtherReference(response.reference_id, request.reference_id) ? OTHER_REFERENCE_PROBLEM : null
}

const OTHER_REFERENCE_PROBLEM = 'the reference ID of another operation'

/**
 * Returns whether the reference ID in a response differs from the one in its request. A server without support for
 * reference IDs returns none.
 */
const isOtherReference = (returned: string | undefined, requested: string | undefined): boolean =>
  returned !== undefined && requested !== undefined && returned !== requested

export const acceptedTransaction = ({ response }: TransactionResponse): AcceptedIds => ({
  nfts: [],
  transaction_gdn_id: response.transaction_gdn_id,
  accepted_date: response.accepted_date,
})

/** The properties that are the same for all endpoints that start a transaction. */
export const transactionCreation = {
  problem: transactionProblem,
  accepted: acceptedTransaction,
  transactionsFrom: 'gettransactions',
} as const
