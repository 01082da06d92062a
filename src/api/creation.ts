/** What a server accepted, by its response. */
export interface AcceptedIds {
  /** The NFTs that were ordered; empty for anything else. */
  nfts: { nft_gdn_id: string; accepted_date: string }[]
  /** The transaction of a transfer or of a collection. */
  transaction_gdn_id: string | null
  accepted_date: string | null
}

/**
 * What a client must know of an endpoint that creates something. With it a request takes effect at most once, even if
 * its response is lost.
 */
export interface Creation<Request = unknown, Response = unknown> {
  /** Why a response of the right form does not prove that the request was accepted; null where it does. */
  problem(request: Request, response: Response): string | null
  /** What a response says was accepted. */
  accepted(response: Response): AcceptedIds
  /** The endpoint that knows the `transaction_gdn_id` of a response; null where a response has NFTs instead. */
  readonly transactionsFrom: 'getcollections' | 'gettransactions' | null
  /** Where the effect of a request shows whose outcome is unknown and which can't be sent again. */
  readonly effect: Effect
  /** Hints for a request of unknown outcome. */
  readonly hints: {
    /** After a single request: where to look before it is repeated. */
    readonly request: string
    /** After a command, which remembers its request. */
    readonly command: string
  }
}

/** `collection`: as new NFTs of a collection. `owner`: as the owner of an NFT. `none`: nowhere, for the reason given. */
export type Effect = { readonly in: 'collection' | 'owner' } | { readonly in: 'none'; readonly reason: string }

/** The hint for a command that looks for the effect of its request when it is repeated. */
export const REPEAT_LATER = 'Run the same command again later. It checks the outcome before it sends anything.'

interface NftsResponse {
  nfts: readonly { nft_gdn_ids: string; accepted_date: string }[]
}

/** What `createnft` and `createnfttrans` have in common for a client. */
export const creatingNfts: Creation<{ metadata: readonly unknown[] }, NftsResponse> = {
  problem({ metadata }, { nfts }) {
    const ids = nfts.map((nft) => nft.nft_gdn_ids)
    if (ids.length !== metadata.length) return `${ids.length} ids for ${metadata.length} NFTs`
    return new Set(ids).size === ids.length ? null : 'the same id for several NFTs'
  },
  accepted: ({ nfts }) => ({
    nfts: nfts.map(({ nft_gdn_ids, accepted_date }) => ({ nft_gdn_id: nft_gdn_ids, accepted_date })),
    transaction_gdn_id: null,
    accepted_date: null,
  }),
  transactionsFrom: null,
  effect: { in: 'collection' },
  hints: {
    request: 'gdn nft list shows whether the NFTs are there; a second request would mint them again',
    command: REPEAT_LATER,
  },
}

/** What an endpoint that starts a transaction accepted. */
export const acceptedTransaction = ({
  response,
}: {
  response: { transaction_gdn_id: string; accepted_date: string }
}): AcceptedIds => ({
  nfts: [],
  transaction_gdn_id: response.transaction_gdn_id,
  accepted_date: response.accepted_date,
})
