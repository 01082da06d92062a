import { createServer } from 'node:http'
import { createPublicClient, http } from 'viem'
import { expect } from 'vitest'
import { sleep } from '../../src/core/time.ts'
import { freshDataDir } from './backend.ts'
import { COLLECTION_ABI } from './collection-abi.ts'
import { listenLocally } from './http-server.ts'
import { expectLedger } from './ledger.ts'
import { expectNoProcesses } from './processes.ts'
import { type ServedBackend, serve } from './served-backend.ts'

const WALLET = '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359'

interface Record {
  nft_gdn_id: string
  token_id: string
  status: string
  metadata_url: string
  request_metadata: { title: string }
}

/** The response fields that are read here. */
interface Answer {
  response: { transaction_gdn_id: string }
  collections: { contract_address: string }[]
  nfts: (Record & { nft_gdn_ids: string })[]
  nft_gdn_ids: string[]
}

/** A file server that responds with a delay, so that kills also interrupt transfers. */
async function startFiles(random: () => number) {
  const server = createServer(async (request, response) => {
    await sleep(random() * 40)
    response.setHeader('content-type', 'image/png')
    response.end(Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.from(String(request.url))]))
  })
  return await listenLocally(server)
}

/** Sends one POST. Returns null without a complete response. */
async function post(backend: { url: string; apiKey: string }, path: string, body: unknown, key?: string) {
  try {
    const response = await fetch(backend.url + path, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-api-key': backend.apiKey,
        ...(key === undefined ? {} : { 'idempotency-key': key }),
      },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(10_000),
    })
    return { status: response.status, json: (await response.json()) as Answer }
  } catch {
    return null
  }
}

export interface KillDropFigures {
  kills: number
  killsWhileStarting: number
  requests: number
  seconds: number
  transactions: number
  blocks: number
}

/**
 * Mints a drop of `nfts` NFTs on a backend that is killed by SIGKILL `kills` times at random moments, including its
 * start, and restarted each time. Afterwards every NFT must be on chain once.
 */
export async function killDrop(options: {
  nfts: number
  kills: number
  random: () => number
}): Promise<KillDropFigures> {
  const { nfts, kills, random } = options
  const since = performance.now()
  const dataDir = await freshDataDir()
  const files = await startFiles(random)
  const flags = ['--allow-private-files', '--rate-limits', 'off']
  let backend: ServedBackend | null = await serve(dataDir.path, flags).ready
  let killsWhileStarting = 0

  // Every request is repeated until it has a response, with the same body and idempotency key.
  const waiting: { key: string; titles: string[] }[] = []
  for (let at = 0; at < nfts; ) {
    const size = Math.min(nfts - at, 1 + Math.floor(random() * 6))
    waiting.push({ key: `drop-${at}`, titles: Array.from({ length: size }, (_, index) => `Piece ${at + index}`) })
    at += size
  }
  const requests = waiting.length
  const accepted = new Map<string, string>()
  let contract: `0x${string}` | null = null
  const ask = async (path: string, body: unknown, key?: string) => {
    for (;;) {
      const answer = backend === null ? null : await post(backend, path, body, key)
      if (answer !== null && answer.status === 200) return answer.json
      if (answer !== null && answer.status < 500) throw new Error(JSON.stringify(answer))
      await sleep(10)
    }
  }
  const drop = async () => {
    const creation = await ask(
      '/api/v1/createcollection',
      { wallet_address: WALLET, name: 'Killed', blockchain: 'polygon' },
      'collection',
    )
    const id = creation.response.transaction_gdn_id
    const { collections } = await ask('/api/v1/getcollections', { transaction_gdn_ids: [id] })
    const contract_address = collections[0]?.contract_address ?? ''
    contract = contract_address as `0x${string}`
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const body = {
        contract_address,
        blockchain: 'polygon',
        receiver_wallet_address: WALLET,
        metadata: next.titles.map((title, index) => ({
          title,
          description: 'dropped',
          file_fields: index % 2 === 0 ? [{ key: 'image', url: `${files.url}/${encodeURIComponent(title)}.png` }] : [],
        })),
      }
      const answer = await ask('/api/v1/createnft', body, next.key)
      for (const [index, nft] of answer.nfts.entries()) accepted.set(next.titles[index] ?? '', nft.nft_gdn_ids)
      // Spreads requests over all kills, which are about 0.4 s apart.
      await sleep((random() * 2 * kills * 400) / requests)
    }
  }
  const dropping = drop()

  for (let kill = 0; kill < kills; kill++) {
    await sleep(random() * 400)
    await backend?.end('SIGKILL')
    backend = null
    const starting = serve(dataDir.path, flags)
    if (random() < 0.25) {
      // This one is killed before it is ready.
      await sleep(random() * 350)
      if (starting.child.exitCode === null) {
        killsWhileStarting += 1
        kill += 1
        await starting.end('SIGKILL')
      }
      backend = await serve(dataDir.path, flags).ready
    } else {
      backend = await starting.ready
    }
  }
  await dropping
  if (backend === null || contract === null) throw new Error('unreachable')
  const contract_address: `0x${string}` = contract

  // Each NFT is listed once, and all are deployed.
  const listed = await ask('/api/v1/getnftgdnids', { contract_addresses: contract_address, blockchain: 'polygon' })
  expect(new Set(listed.nft_gdn_ids).size).toBe(nfts)
  expect(new Set(listed.nft_gdn_ids)).toEqual(new Set(accepted.values()))
  const records = async () => (await ask('/api/v1/getnfts', { nft_gdn_ids: listed.nft_gdn_ids })).nfts
  let nftRecords = await records()
  while (nftRecords.some((nft) => nft.status === 'initiated')) {
    await sleep(50)
    nftRecords = await records()
  }
  const failed = nftRecords.filter((nft) => nft.status !== 'deployed')
  expect(failed).toEqual([])

  // On chain, read without our code: as many tokens as NFTs, each title once.
  const client = createPublicClient({ transport: http(`${backend.url}/rpc/polygon`) })
  const collection = { address: contract_address, abi: COLLECTION_ABI }
  expect(await client.readContract({ ...collection, functionName: 'totalSupply' })).toBe(BigInt(nfts))
  const titles = new Set<string>()
  for (const nft of nftRecords) {
    const args = [BigInt(nft.token_id)] as const
    expect(await client.readContract({ ...collection, functionName: 'ownerOf', args })).toBe(WALLET)
    const uri = await client.readContract({ ...collection, functionName: 'tokenURI', args })
    expect(uri).toBe(nft.metadata_url)
    const metadata = (await (await fetch(`${backend.url}/ipfs/${uri.slice('ipfs://'.length)}`)).json()) as {
      name: string
    }
    expect(metadata.name).toBe(nft.request_metadata.title)
    titles.add(metadata.name)
  }
  expect(titles.size).toBe(nfts)

  expect(await backend.end('SIGTERM')).toBe(0)
  files.close()
  await expectNoProcesses(dataDir.path)

  const { blocks, transactions } = await expectLedger(dataDir.path)
  expect(transactions.filter(({ state }) => state !== 'final')).toEqual([])
  await dataDir.remove()
  return {
    kills,
    killsWhileStarting,
    requests,
    seconds: Math.round((performance.now() - since) / 100) / 10,
    transactions: transactions.length,
    blocks,
  }
}
