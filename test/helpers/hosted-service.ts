import { randomUUID } from 'node:crypto'
import { createServer, type ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { listenLocally } from './http-server.ts'

export interface HostedNft {
  id: string
  contract: string
  receiver: string
  metadata: { title: string }
  /** `gdn` for requests through the API with our key; `other` for an unknown client. */
  by: 'gdn' | 'other'
  acceptedAt: number
}

/** Odd responses to accepted mints: wrong IDs, or one that leaves after those of later requests. */
export const ODD_RESPONSES = ['fewer_ids', 'more_ids', 'other_order', 'late'] as const

export interface HostedOptions {
  /**
   * Accepted requests per second of each limited endpoint; above it the response is 429. Default 2, as in the
   * reference.
   */
  rate?: number
  /** Sends its rate in RateLimit-Policy, which the hosted service does not. */
  tellsRate?: boolean
  /** Milliseconds until an NFT is listed, and until it is deployed. */
  listingLagMs?: number
  deployMs?: number
  /** Returns the stored metadata, because a service may rewrite it. */
  rewrite?: (metadata: HostedNft['metadata']) => HostedNft['metadata']
  /** Selects the odd response to an accepted mint; null for a correct one. */
  oddResponse?: () => (typeof ODD_RESPONSES)[number] | null
  /** Called after each accepted request, so that other clients can mint or change owners. */
  onMinted?: (nfts: readonly HostedNft[], service: HostedService) => void
}

export interface HostedService {
  url: string
  apiKey: string
  readonly nfts: ReadonlyMap<string, HostedNft>
  /** Number of requests above the rate. */
  readonly tooFast: number
  /** Simulates a mint by another client. */
  mintByOther(nft: Pick<HostedNft, 'contract' | 'receiver' | 'metadata'>): HostedNft
  close(): Promise<void>
}

const LIMITED = new Set(['createnft', 'getnftgdnids', 'getnfts'])
const MAX_IDS = 100
/** Longer than later requests take. */
const LATE_MS = 200

interface Body {
  contract_address: string
  contract_addresses: string
  blockchain: string
  receiver_wallet_address: string
  nft_gdn_ids: string[]
  metadata: HostedNft['metadata'][]
}

/**
 * A stand-in for the hosted service as its reference and its users describe it. It has no idempotency keys, its listing
 * lags behind accepted NFTs, token ID and contract address are null until an NFT is deployed, and other clients mint in
 * the same collection.
 */
export async function startHostedService(options: HostedOptions = {}): Promise<HostedService> {
  const { rate = 2, tellsRate = false, listingLagMs = 0, deployMs = 0, rewrite = (body) => body, onMinted } = options
  const { oddResponse = () => null } = options
  const apiKey = `key-${randomUUID()}`
  const nfts = new Map<string, HostedNft>()
  const arrivals = new Map<string, number[]>()
  let tooFast = 0

  const mint = (nft: Omit<HostedNft, 'id' | 'acceptedAt'>): HostedNft => {
    const minted = { ...nft, id: randomUUID(), acceptedAt: performance.now() }
    nfts.set(minted.id, minted)
    return minted
  }

  /** Whether this request is within the rate, in any window of one second. */
  const withinRate = (endpoint: string): boolean => {
    const now = performance.now()
    const recent = (arrivals.get(endpoint) ?? []).filter((at) => now - at < 1000)
    recent.push(now)
    arrivals.set(endpoint, recent)
    return recent.length <= rate
  }

  const isListed = ({ acceptedAt }: HostedNft) => performance.now() - acceptedAt >= listingLagMs

  const record = (nft: HostedNft) => {
    const deployed = performance.now() - nft.acceptedAt >= deployMs
    return {
      nft_gdn_id: nft.id,
      token_id: deployed ? String([...nfts.keys()].indexOf(nft.id)) : null,
      contract_address: deployed ? nft.contract : null,
      receiver_wallet_address: nft.receiver,
      status: deployed ? 'deployed' : 'initiated',
      request_metadata: nft.metadata,
      metadata_url: deployed ? `ipfs://metadata/${nft.id}` : null,
    }
  }

  const answers: Record<string, (body: Body) => unknown> = {
    async createnft(body) {
      const { contract_address, receiver_wallet_address, metadata } = body
      const minted = metadata.map((one) =>
        mint({ contract: contract_address, receiver: receiver_wallet_address, metadata: rewrite(one), by: 'gdn' }),
      )
      onMinted?.(minted, service)
      const odd = oddResponse()
      const ids = minted.map(({ id }) => id)
      if (odd === 'fewer_ids') ids.pop()
      if (odd === 'more_ids') ids.push(randomUUID())
      if (odd === 'other_order') ids.reverse()
      if (odd === 'late') await sleep(LATE_MS)
      const accepted_date = new Date().toISOString().slice(0, 19).replace('T', ' ')
      return {
        message: 'accepted',
        requests: { contract_address, receiver_wallet_address, metadata },
        nfts: ids.map((id) => ({ nft_gdn_ids: id, accepted_date })),
      }
    },
    getnftgdnids({ contract_addresses, blockchain }) {
      const listed = [...nfts.values()].filter((nft) => nft.contract === contract_addresses && isListed(nft))
      return { requests: { contract_address: contract_addresses, blockchain }, nft_gdn_ids: listed.map(({ id }) => id) }
    },
    getnfts({ nft_gdn_ids }) {
      const found = nft_gdn_ids.slice(0, MAX_IDS).flatMap((id) => nfts.get(id) ?? [])
      return { requests: { nft_gdn_ids }, nfts: found.map(record) }
    },
  }

  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const endpoint = /^\/api\/v1\/(\w+)\/?$/.exec(request.url ?? '')?.[1] ?? ''
    const act = answers[endpoint]
    if (request.headers['x-api-key'] !== apiKey) return say(response, 401, refusal('Unauthorized', 'unknown key'))
    if (act === undefined) return say(response, 404, refusal('Not Found', 'no such path'))
    const policy = tellsRate ? { 'ratelimit-policy': `"${endpoint}";q=${rate};w=1` } : {}
    if (LIMITED.has(endpoint) && !withinRate(endpoint)) {
      tooFast++
      return say(response, 429, refusal('Too Many Requests', 'slow down'), { ...policy, 'retry-after': '1' })
    }
    say(response, 200, await act(JSON.parse(Buffer.concat(chunks).toString()) as Body), policy)
  })
  const { url, close } = await listenLocally(server)

  const service: HostedService = {
    url,
    apiKey,
    nfts,
    get tooFast() {
      return tooFast
    },
    mintByOther: (nft) => mint({ ...nft, by: 'other' }),
    close,
  }
  return service
}

const refusal = (title: string, message: string) => ({ error: { title, message } })

function say(response: ServerResponse, status: number, json: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify(json))
}
