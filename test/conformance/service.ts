import { afterAll, beforeAll, expect } from 'vitest'
import { type Answer, freshDataDir, startTestBackend } from '../helpers/backend.ts'
import { makeKey } from '../helpers/keys.ts'

/** The table of the reference: creation, transfer, creation with transfer, creation of a collection. */
const TABLE = `
  polygon          yes  yes          yes          yes
  polygon-mumbai   yes  yes          yes          yes
  astar            yes  yes          yes          yes
  astar-shiden     yes  yes          yes          yes
  astar-shibuya    yes  yes          yes          yes
  avalanche        yes  yes          yes          yes
  avalanche-fuji   yes  yes          yes          yes
  optimism         yes  yes          yes          yes
  optimism-goerli  yes  yes          yes          yes
  fantom           yes  yes          yes          yes
  fantom-testnet   yes  yes          yes          yes
  solana           yes  unsupported  unsupported  yes
  solana-testnet   yes  unsupported  unsupported  yes
  bnb-mainnet      yes  yes          yes          yes
  bnb-testnet      yes  yes          yes          yes
`

type Support = 'yes' | 'unsupported'

export interface Row {
  blockchain: string
  create: Support
  transfer: Support
  createAndTransfer: Support
  collection: Support
}

const support = (cell: string | undefined): Support => (cell === 'yes' ? 'yes' : 'unsupported')

export const ROWS: readonly Row[] = TABLE.trim()
  .split('\n')
  .map((line) => {
    const [blockchain = '', create, transfer, createAndTransfer, collection] = line.trim().split(/\s+/)
    return {
      blockchain,
      create: support(create),
      transfer: support(transfer),
      createAndTransfer: support(createAndTransfer),
      collection: support(collection),
    }
  })

export const BLOCKCHAINS = ROWS.map(({ blockchain }) => blockchain)

export const isSolana = (blockchain: string): boolean => /^solana(-|$)/.test(blockchain)

const EVM_WALLETS = {
  artist: '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
  first: '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB',
  second: '0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb',
}

const SOLANA_WALLETS = {
  artist: 'GRJVLgBTfsEVewtcBkeud4iCpu8C9VkbTv6YoeGzaTKN',
  first: 'ALBbaoFBG57Hu4zAbPJbr8U52KpD8653wsKCacmJVaDu',
  second: 'DTsoFJ84TJ7ygo9PCNt4RuHEwfhif9wzHo3QVEfArcd',
}

/** Wallets whose keys are unknown. */
export const walletsOn = (blockchain: string) => (isSolana(blockchain) ? SOLANA_WALLETS : EVM_WALLETS)

/** Timestamps named accepted_date use the pattern YYYY-MM-DD HH:MM:SS. */
export const ACCEPTED_DATE = expect.stringMatching(
  /^\d{4}-(0\d|1[0-2])-([0-2]\d|3[01]) ([01]\d|2[0-3]):[0-5]\d:[0-5]\d$/,
)

export const NON_EMPTY = expect.stringMatching(/^.*\S.*$/s)

/** Error form A, without other fields. */
export const formA = (title: unknown = NON_EMPTY, message: unknown = NON_EMPTY) => ({ error: { title, message } })

export const accepted = { transaction_gdn_id: NON_EMPTY, accepted_date: ACCEPTED_DATE }

export const metadataOf = (title: string, extra: object = {}) => ({
  title,
  description: `${title} of the conformance test`,
  file_fields: [],
  ...extra,
})

/** A request without one of its parameters. */
export function without(body: object, name: string): object {
  return Object.fromEntries(Object.entries(body).filter(([key]) => key !== name))
}

export interface Collection {
  contract_address: string
  blockchain: string
}

export interface Nft {
  nft_gdn_id: string
  token_id: string
  contract_address: string
  receiver_wallet_address: string
  status: string
  request_metadata: object
  metadata_url: string
}

type Permissions = NonNullable<NonNullable<Parameters<typeof makeKey>[1]>['permissions']>

const TRIES = 1500

/** A backend for the tests of a file, reached over HTTP. It starts before them and closes after them. */
export function startService({ rateLimits = false, now = Date.now } = {}) {
  let dataDir: Awaited<ReturnType<typeof freshDataDir>>
  let backend: Awaited<ReturnType<typeof startTestBackend>>
  beforeAll(async () => {
    dataDir = await freshDataDir()
    backend = await startTestBackend(dataDir.path, { rateLimits, now, logLevel: 'error' })
  })
  afterAll(async () => {
    await backend?.close()
    await dataDir?.remove()
  })

  /** Posts JSON with the key to an endpoint's name or a path. Omits a header that is set to ''. */
  function post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    return backend.post(path.startsWith('/') ? path : `/api/v1/${path}`, body, headers)
  }

  /** Returns the response of a successful request, and throws for any other. */
  async function ask(path: string, body: unknown): Promise<Answer['json']> {
    const { status, json } = await post(path, body)
    if (status < 200 || status > 299) throw new Error(`${path} answered ${status}: ${JSON.stringify(json)}`)
    return json
  }

  /**
   * Creates a collection. Reads its address from getcollections, because in the reference only the website shows it.
   */
  async function collection(blockchain = 'polygon', flags: object = {}): Promise<Collection> {
    const solana = isSolana(blockchain) ? { description: 'A collection', image: 'https://example.com/image.png' } : {}
    const wallet_address = walletsOn(blockchain).artist
    const body = { wallet_address, name: 'Conformance', blockchain, ...solana, enable_transfer: true, ...flags }
    const { response } = await ask('createcollection', body)
    const { collections } = await ask('getcollections', { transaction_gdn_ids: [response.transaction_gdn_id] })
    return { contract_address: collections[0].contract_address, blockchain }
  }

  async function detailsWhen(ids: readonly string[], isWanted: (nft: Nft) => boolean): Promise<Nft[]> {
    for (let turn = 0; turn < TRIES; turn++) {
      const { nfts } = await ask('getnfts', { nft_gdn_ids: ids })
      if (nfts.length === ids.length && nfts.every(isWanted)) return nfts
      const failed = nfts.find((nft: Nft) => nft.status === 'failed')
      if (failed !== undefined) throw new Error(JSON.stringify(failed))
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    throw new Error(`the NFTs ${ids.join(', ')} never became what was waited for`)
  }

  /** Creates NFTs owned by the first wallet, and returns their IDs. */
  async function createNfts(where: Collection, metadata: unknown): Promise<string[]> {
    const body = { ...where, receiver_wallet_address: walletsOn(where.blockchain).first, metadata }
    return (await ask('createnft', body)).nfts.map((nft: { nft_gdn_ids: string }) => nft.nft_gdn_ids)
  }

  /** Creates an NFT owned by the first wallet, and waits until it is deployed. */
  async function deployedNft(where: Collection, metadata: object = metadataOf('One')): Promise<Nft> {
    const [nft] = await detailsWhen(await createNfts(where, metadata), isDeployed)
    if (nft === undefined) throw new Error('no NFT')
    return nft
  }

  return {
    url: () => backend.url,
    apiKey: () => backend.apiKey.reveal(),
    /** Returns a new key with these permissions, as a header. */
    keyFor: async (permissions: Permissions) => (await makeKey(dataDir.path, { permissions })).headers,
    post,
    ask,
    collection,
    createNfts,
    deployedNft,
    detailsWhen,
  }
}

export const isDeployed = ({ status }: Nft): boolean => status === 'deployed'
