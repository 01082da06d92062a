/** The objects that a server accepted, according to its response. */
export interface AcceptedIds {
  /** The NFTs that were requested; empty for anything else. */
  nfts: { nft_gdn_id: string; accepted_date: string }[]
  /** The transaction of a transfer or of a collection. */
  transaction_gdn_id: string | null
  accepted_date: string | null
}

/**
 * Describes an endpoint that creates something, so that a client's request takes effect at most once even if the
 * response is lost.
 */
export interface Creation<Request = unknown, Response = unknown> {
  /** Why a response of the right form does not prove that the request was accepted; null where it does. */
  problem(request: Request, response: Response): string | null
  /** Returns the IDs of the accepted objects, from the response. */
  accepted(response: Response): AcceptedIds
  /** The endpoint that knows the `transaction_gdn_id` of a response; null where a response has NFTs instead. */
  readonly transactionsFrom: 'getcollections' | 'gettransactions' | null
  /** Where the effect of a request is visible if its outcome is unknown and it can't be repeated. */
  readonly effect: Effect
  /** Hints for a request with an unknown outcome. */
  readonly hints: {
    /** After a single request: what to check before it is repeated. */
    readonly request: string
    /** After a command, which records its request. */
    readonly command: string
  }
}

/**
 * `collection`: as new NFTs of a collection. `owner`: as the owner of an NFT. `none`: nowhere, for the reason given.
 */
export type Effect = { readonly in: 'collection' | 'owner' } | { readonly in: 'none'; readonly reason: string }

/** The hint for a command that looks for the effect of its request when it is repeated. */
export const REPEAT_LATER = 'Run the same command again later. It checks the outcome before it sends anything.'

/**
 * Returns the body of a response that accepted NFTs, with `nfts`: v1.2 of the hosted service lists them as `response`.
 */
export function withNfts(json: unknown): unknown {
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

/** The parts of a creation that `createnft` and `createnfttrans` have in common. */
export const creatingNfts: Creation<NftsRequest, NftsResponse> = {
  problem({ metadata, reference_ids }, { nfts }) {
    const ids = nfts.map((nft) => nft.nft_gdn_ids)
    if (ids.length !== metadata.length) return `${ids.length} IDs for ${metadata.length} NFTs`
    if (new Set(ids).size !== ids.length) return 'the same ID for several NFTs'
    if (ids.includes('')) return 'an NFT without an ID'
    return nfts.some(({ reference_id }, i) => isOther(reference_id, reference_ids?.[i])) ? OTHER_REFERENCE : null
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
    command: REPEAT_LATER,
  },
}

interface TransactionResponse {
  response: { transaction_gdn_id: string; accepted_date: string; reference_id?: string | undefined }
}

/** Why a response does not prove that a transfer or a collection was accepted; null where it does. */
export function transactionProblem(
  request: { reference_id?: string | undefined },
  { response }: TransactionResponse,
): string | null {
  if (response.transaction_gdn_id === '') return 'a transaction without an ID'
  return isOther(response.reference_id, request.reference_id) ? OTHER_REFERENCE : null
}

const OTHER_REFERENCE = 'the reference ID of another operation'

/** Whether a response names another reference ID than the request. A server without support for them names none. */
const isOther = (answered: string | undefined, asked: string | undefined): boolean =>
  answered !== undefined && asked !== undefined && answered !== asked

/** Returns the transaction that an endpoint accepted. */
export const acceptedTransaction = ({ response }: TransactionResponse): AcceptedIds => ({
  nfts: [],
  transaction_gdn_id: response.transaction_gdn_id,
  accepted_date: response.accepted_date,
})

/** The parts of a creation that the endpoints for changes have in common. */
export const startingTransaction = {
  problem: transactionProblem,
  accepted: acceptedTransaction,
  transactionsFrom: 'gettransactions',
} as const
