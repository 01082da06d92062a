import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, request, FormData as UndiciForm } from 'undici'
import { startUntil } from './processes.ts'

/** GDN_BENCH_BIN selects another build of gdn. */
export const GDN = process.env.GDN_BENCH_BIN ?? join('bin', 'gdn.js')

const before = process.env.GDN_BENCH_BIN_BEFORE

/** The build, and the older one that GDN_BENCH_BIN_BEFORE names. Some parts measure both in turns. */
export const BUILDS = before === undefined ? [GDN] : [GDN, before]

/** GDN_BENCH_NODE selects the Node that runs gdn. */
export const NODE = process.env.GDN_BENCH_NODE ?? process.execPath

export const WALLET = '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359'

/** Creates a temporary folder, which is removed when the work is done. */
export async function withFolder<Result>(work: (folder: string) => Promise<Result>): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), 'gdn-bench-'))
  try {
    return await work(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

export interface Backend {
  url: string
  apiKey: string
  pid: number
  /** Milliseconds from the start of the process to its ready line. */
  readyAfter: number
  /** Sends a POST of JSON; any response other than 200 is an error. */
  // biome-ignore lint/suspicious/noExplicitAny: the caller knows the type of the response
  post(path: string, body: unknown): Promise<any>
  /** Stores a file and returns its ipfs URL. */
  upload(content: Uint8Array): Promise<string>
  end(): Promise<void>
}

/** `gdn serve` in a separate process. `program` is the build, preceded by flags of Node. */
export async function serve(
  dataDir: string,
  flags: readonly string[] = [],
  program: readonly string[] = [GDN],
): Promise<Backend> {
  const args = [...program, 'serve', '--json', '--port', '0', '--data-dir', dataDir, '--rate-limits', 'off', ...flags]
  const running = await startUntil(/"event":"ready"/, NODE, args)
  const { url, api_key: apiKey, pid } = JSON.parse(running.line)
  const dispatcher = new Agent({ connections: 16 })
  const send = async (path: string, headers: Record<string, string>, body: string | UndiciForm) => {
    const all = { 'x-api-key': apiKey, ...headers }
    const answer = await request(url + path, { method: 'POST', dispatcher, headers: all, body })
    const text = await answer.body.text()
    if (answer.statusCode !== 200) throw new Error(`${path} returned ${answer.statusCode}: ${text}`)
    return JSON.parse(text)
  }
  return {
    url,
    apiKey,
    pid,
    readyAfter: running.time,
    post: (path, body) => send(path, { 'content-type': 'application/json' }, JSON.stringify(body)),
    async upload(content) {
      const form = new UndiciForm()
      form.set('file', new Blob([Buffer.from(content)], { type: 'image/png' }), 'image.png')
      return (await send('/api/v1/files', {}, form)).url
    },
    async end() {
      await dispatcher.destroy()
      await running.end()
    },
  }
}

export interface Collection {
  /** The collection's ID. */
  transaction_gdn_ids: string
  contract_address: string
  blockchain: string
}

/** Creates a collection, on polygon by default, and waits until it is deployed. */
export async function createCollection(backend: Backend, request: object = {}): Promise<Collection> {
  const body = { wallet_address: WALLET, name: 'Bench', blockchain: 'polygon', ...request }
  const { response } = await backend.post('/api/v1/createcollection', body)
  for (;;) {
    const query = { transaction_gdn_ids: [response.transaction_gdn_id] }
    const [collection] = (await backend.post('/api/v1/getcollections', query)).collections
    if (collection.status === 'deployed') return collection
    if (collection.status === 'failed') throw new Error(collection.error)
    await sleep(10)
  }
}

export interface Order {
  count: number
  perRequest: number
  clients: number
  image: (index: number) => string
  receiver?: string
}

/** Uploads images and returns the URL for the NFT at an index, in turns. */
export async function uploadAll(backend: Backend, images: readonly Uint8Array[]): Promise<(index: number) => string> {
  const urls = await Promise.all(images.map((image) => backend.upload(image)))
  return (index) => urls[index % urls.length] ?? ''
}

/** Sends requests for this many NFTs with this many concurrent clients; returns all IDs. */
export async function order(backend: Backend, collection: Collection, what: Order): Promise<string[]> {
  const ids: string[] = []
  let next = 0
  const client = async () => {
    while (next < what.count) {
      const from = next
      next = Math.min(what.count, from + what.perRequest)
      const metadata = Array.from({ length: next - from }, (_, index) => metadataOf(from + index, what.image))
      const { contract_address, blockchain } = collection
      const body = { contract_address, blockchain, receiver_wallet_address: what.receiver ?? WALLET, metadata }
      for (const nft of (await backend.post('/api/v1/createnft', body)).nfts) ids.push(nft.nft_gdn_ids)
    }
  }
  await Promise.all(Array.from({ length: what.clients }, client))
  return ids
}

/** Resolves when all NFTs are deployed: polls groups of 100, each until it is complete. */
export async function untilDeployed(backend: Backend, ids: readonly string[]): Promise<void> {
  for (let at = 0; at < ids.length; at += 100) {
    let pending = ids.slice(at, at + 100)
    for (;;) {
      const { nfts } = await backend.post('/api/v1/getnfts', { nft_gdn_ids: pending })
      const failed = nfts.find((nft: { status: string }) => nft.status === 'failed')
      if (failed !== undefined) throw new Error(`an NFT failed: ${failed.error}`)
      pending = nfts
        .filter((nft: { status: string }) => nft.status !== 'deployed')
        .map((nft: { nft_gdn_id: string }) => nft.nft_gdn_id)
      if (pending.length === 0) break
      await sleep(20)
    }
  }
}

function metadataOf(index: number, image: (index: number) => string) {
  return {
    title: `Number ${index}`,
    description: 'One of many, created for a benchmark.',
    file_fields: [{ key: 'image', url: image(index) }],
  }
}

/** A minted NFT, as its owner asks for it. */
export interface Shown {
  ids: string[]
  /** The environment of gdn, with server and key. */
  env: Record<string, string>
}

/** Starts a backend that has one NFT with an image, and stops it when the work is done. */
export async function withNft<Result>(folder: string, work: (nft: Shown) => Promise<Result>): Promise<Result> {
  const backend = await serve(folder, ['--allow-private-files'])
  try {
    const collection = await createCollection(backend)
    const image = await backend.upload(Buffer.from('89504e470d0a1a0a', 'hex'))
    const ids = await order(backend, collection, { count: 1, perRequest: 1, clients: 1, image: () => image })
    await untilDeployed(backend, ids)
    const env = {
      PATH: process.env.PATH ?? '',
      HOME: folder,
      GDN_PACE_DIR: join(folder, 'pace'),
      GDN_BASE_URL: backend.url,
      GDN_API_KEY: backend.apiKey,
    }
    return await work({ ids, env })
  } finally {
    await backend.end()
  }
}
