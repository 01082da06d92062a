import { createPublicClient, getAddress, http, parseAbi } from 'viem'
import { expect } from 'vitest'
import { sleep } from '../../src/core/time.ts'
import { freshDataDir, WALLETS, withStore } from './backend.ts'
import { type ChildBackend, startedChild } from './backend-child.ts'
import { startFileServer, status } from './file-server.ts'
import { expectLedger } from './ledger.ts'
import { processesWith } from './processes.ts'

const ABI = parseAbi([
  'function ownerOf(uint256) view returns (address)',
  'function tokenURI(uint256) view returns (string)',
  'function totalSupply() view returns (uint256)',
])
/** A quick machine is killed as often as this after the last answer. */
const LEAST_KILLS = 3
const FAULTY_SHARE = 0.3
const PATIENCE_MS = 120_000

export interface ChaosOptions {
  requests: number
  clients: number
  /** The longest that a backend lives, in milliseconds. */
  longestLife: number
  random: () => number
}

export interface ChaosFigures {
  requests: number
  collections: number
  deployed: number
  failed: number
  kills: number
  transactions: number
  blocks: number
  seconds: number
}

interface Wish {
  title: string
  receiver: string
  /** Nobody can fetch its file, so it must fail. */
  broken: boolean
}

/**
 * Clients ask for collections and NFTs, each request until it is answered, while the backend is killed over and over and
 * 30 % of the calls to its chain fail or hang. Afterwards every accepted request must have come to its true end.
 */
export async function chaos({ requests, clients, longestLife, random }: ChaosOptions): Promise<ChaosFigures> {
  const since = performance.now()
  const dataDir = await freshDataDir()
  const files = await startFileServer({ '/gone.png': status(404) })
  const start = (share: number) =>
    startedChild(dataDir.path, { faults: { share, seed: Math.floor(random() * 2 ** 31) } })
  let backend: ChildBackend | null = await start(FAULTY_SHARE)
  let busy = true
  let kills = 0

  const killing = (async () => {
    while (busy || kills < LEAST_KILLS) {
      await sleep(longestLife * (0.3 + 0.7 * random()))
      if (!busy && kills >= LEAST_KILLS) break
      const victim = backend
      backend = null
      await victim?.kill('SIGKILL')
      kills += 1
      backend = await start(FAULTY_SHARE)
    }
  })()

  /** Asks until there is an answer, with the same bytes under the same key. */
  const ask = async <Answer>(path: string, body: object, key?: string): Promise<Answer> => {
    for (const end = Date.now() + PATIENCE_MS; ; ) {
      const answer = backend === null ? null : await post(backend, path, body, key)
      if (answer?.status === 200) return answer.json as Answer
      if (answer !== null && answer.status < 500) throw new Error(`${path}: ${JSON.stringify(answer)}`)
      if (Date.now() > end) throw new Error(`${path} was never answered: ${JSON.stringify(answer)}`)
      await sleep(20)
    }
  }

  const collections: { id: string; address: string }[] = []
  const wishes = new Map<string, Wish & { address: string }>()

  const createCollection = async (key: string) => {
    const body = { wallet_address: WALLETS[0], name: `Chaos ${key}`, blockchain: 'polygon' }
    type Made = { response: { transaction_gdn_id: string } }
    const id = (await ask<Made>('/api/v1/createcollection', body, key)).response.transaction_gdn_id
    type Shown = { collections: { contract_address: string }[] }
    const shown = await ask<Shown>('/api/v1/getcollections', { transaction_gdn_ids: [id] })
    collections.push({ id, address: shown.collections[0]?.contract_address ?? '' })
  }

  const createNfts = async (key: string) => {
    const { address } = collections[Math.floor(random() * collections.length)] ?? { address: '' }
    const receiver = WALLETS[Math.floor(random() * WALLETS.length)] ?? WALLETS[0]
    const wanted: Wish[] = Array.from({ length: 1 + Math.floor(random() * 4) }, (_, index) => ({
      title: `${key} ${index}`,
      receiver,
      broken: random() < 0.05,
    }))
    const body = {
      contract_address: address,
      blockchain: 'polygon',
      receiver_wallet_address: receiver,
      metadata: wanted.map(({ title, broken }, index) => ({
        title,
        description: 'in a storm',
        file_fields:
          broken || index % 2 === 0 ? [{ key: 'image', url: `${files.url}/${broken ? 'gone' : key}.png` }] : [],
      })),
    }
    const { nfts } = await ask<{ nfts: { nft_gdn_ids: string }[] }>('/api/v1/createnft', body, key)
    for (const [index, wish] of wanted.entries()) wishes.set(nfts[index]?.nft_gdn_ids ?? '', { ...wish, address })
  }

  await createCollection('first')
  let next = 1
  const client = async () => {
    for (let turn = next++; turn < requests; turn = next++) {
      await (random() < 0.05 ? createCollection(`request-${turn}`) : createNfts(`request-${turn}`))
      await sleep(random() * 100)
    }
  }
  await Promise.all(Array.from({ length: clients }, client))

  // All the while the faults go on, until the last request has come to its end.
  const pending = () =>
    withStore(dataDir.path, async ({ db }) => {
      const rows = await Promise.all([
        db.selectFrom('nfts').select('id').where('status', '=', 'initiated').execute(),
        db.selectFrom('collections').select('id').where('status', '=', 'initiated').execute(),
      ])
      return rows.flat().length
    })
  for (const end = Date.now() + PATIENCE_MS; (await pending()) > 0 && Date.now() < end; ) await sleep(200)
  expect(await pending()).toBe(0)
  busy = false
  await killing
  await backend?.kill('SIGKILL')
  backend = await start(0)

  // As the API tells it: what was accepted is there, and nothing else.
  const states = await ask<{ collections: { status: string }[] }>('/api/v1/getcollections', {
    transaction_gdn_ids: collections.map(({ id }) => id),
  })
  expect(new Set(states.collections.map((collection) => collection.status))).toEqual(new Set(['deployed']))
  const reader = createPublicClient({ transport: http(`${backend.url}/rpc/polygon`) })
  let deployed = 0
  let failed = 0
  for (const { address } of collections) {
    const { nft_gdn_ids: ids } = await ask<{ nft_gdn_ids: string[] }>('/api/v1/getnftgdnids', {
      contract_addresses: address,
      blockchain: 'polygon',
    })
    const wanted = [...wishes].filter(([, wish]) => wish.address === address)
    expect([...ids].sort()).toEqual(wanted.map(([id]) => id).sort())
    const records =
      ids.length === 0 ? [] : (await ask<{ nfts: NftRecord[] }>('/api/v1/getnfts', { nft_gdn_ids: ids })).nfts
    const contract = { address: getAddress(address), abi: ABI }
    const tokens = new Set<string>()
    for (const nft of records) {
      const wish = wishes.get(nft.nft_gdn_id)
      if (wish?.broken) {
        expect(nft).toMatchObject({
          status: 'failed',
          token_id: null,
          error: expect.stringMatching(/gone\.png answered 404/),
        })
        failed += 1
        continue
      }
      expect(nft).toMatchObject({ status: 'deployed', request_metadata: { title: wish?.title } })
      deployed += 1
      tokens.add(String(nft.token_id))
      const args = [BigInt(String(nft.token_id))] as const
      expect(await reader.readContract({ ...contract, functionName: 'ownerOf', args })).toBe(wish?.receiver)
      const uri = await reader.readContract({ ...contract, functionName: 'tokenURI', args })
      expect(uri).toBe(nft.metadata_url)
      const metadata = await (await fetch(`${backend.url}/ipfs/${uri.slice('ipfs://'.length)}`)).json()
      expect(metadata).toMatchObject({ name: wish?.title })
    }
    // As many tokens on chain as NFTs that are deployed: none twice, none too many.
    const supply = await reader.readContract({ ...contract, functionName: 'totalSupply' })
    expect([supply, tokens.size]).toEqual([
      BigInt(tokens.size),
      records.filter((nft) => nft.status === 'deployed').length,
    ])
  }
  await backend.kill('SIGTERM')
  await files.close()
  expect(processesWith(dataDir.path)).toEqual([])
  const { blocks, transactions } = await expectLedger(dataDir.path)
  expect(new Set(transactions.map((row) => row.state))).toEqual(new Set(['final']))
  await dataDir.remove()
  return {
    requests,
    collections: collections.length,
    deployed,
    failed,
    kills,
    transactions: transactions.length,
    blocks,
    seconds: Math.round((performance.now() - since) / 100) / 10,
  }
}

interface NftRecord {
  nft_gdn_id: string
  token_id: string | null
  status: string
  metadata_url: string | null
}

async function post({ url, apiKey }: ChildBackend, path: string, body: object, key: string | undefined) {
  const headers: Record<string, string> = { 'content-type': 'application/json', 'x-api-key': apiKey }
  if (key !== undefined) headers['idempotency-key'] = key
  try {
    const signal = AbortSignal.timeout(10_000)
    const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body), signal })
    return { status: response.status, json: (await response.json()) as unknown }
  } catch {
    return null
  }
}
