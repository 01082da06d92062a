/** @module-tag slow */
import { createServer, type Server } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { OWNER } from '../helpers/addresses.ts'
import { freshDataDir, withStore } from '../helpers/backend.ts'
import { type GdnHome, makeHome } from '../helpers/gdn.ts'
import { type HoldingProxy, startHoldingProxy } from '../helpers/holding-proxy.ts'
import { listenLocally } from '../helpers/http-server.ts'
import { type ServedBackend, serve } from '../helpers/served-backend.ts'

const RECEIVER = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'

interface Nft {
  nft_gdn_id: string
  receiver_wallet_address: string
  request_metadata: { title: string }
}

/** Starts a command, lets the server accept its request, and ends it before the response arrives. */
async function endBeforeAnswer(
  { home, proxy, env }: { home: GdnHome; proxy: HoldingProxy; env: Record<string, string> },
  endpoint: string,
  argv: readonly string[],
  signal: NodeJS.Signals,
) {
  proxy.hold(endpoint)
  const child = home.start([...argv, '--json'], { env })
  const ended = child.then(({ stderr }) => {
    throw new Error(`gdn ended before its request was held: ${stderr}`)
  })
  await Promise.race([proxy.held(), ended])
  ended.catch(() => {})
  child.kill(signal)
  const result = await child
  proxy.hold(null)
  return result
}

describe('a single command that is killed after its request was sent, and repeated', () => {
  let dataDir: Awaited<ReturnType<typeof freshDataDir>>
  let backend: ServedBackend
  let home: GdnHome
  let proxy: HoldingProxy
  let env: Record<string, string>
  let contract: string

  beforeAll(async () => {
    dataDir = await freshDataDir()
    home = await makeHome()
    backend = await serve(dataDir.path, ['--rate-limits', 'off']).ready
    proxy = await startHoldingProxy(backend.url)
    env = { GDN_BASE_URL: proxy.url, GDN_API_KEY: backend.apiKey, GDN_BLOCKCHAIN: 'polygon' }
  })

  afterAll(async () => {
    await proxy.close()
    await backend.end('SIGTERM')
    await Promise.all([dataDir.remove(), home.remove()])
  })

  const listed = async (title: string) =>
    (await home.json<Nft[]>(['nft', 'list', '-c', contract], { env })).filter(
      (nft) => nft.request_metadata.title === title,
    )

  it('collection create, killed: creates one collection', { tags: ['promise', 'needed'] }, async () => {
    const argv = ['collection', 'create', '--name', 'Once', '--wallet', OWNER, '--enable-transfer']
    const { signal } = await endBeforeAnswer({ home, proxy, env }, 'createcollection', argv, 'SIGKILL')
    expect(signal).toBe('SIGKILL')
    contract = (await home.json<{ contract_address: string }>(argv, { env })).contract_address
    const collections = await withStore(dataDir.path, ({ db }) => db.selectFrom('collections').select('id').execute())
    expect(collections).toHaveLength(1)
  })

  it.each([
    ['SIGKILL', undefined],
    ['SIGINT', 9],
  ] as const)('nft mint, ended by %s: mints one NFT', async (signal, code) => {
    const argv = ['nft', 'mint', '-c', contract, '--receiver', OWNER, '--title', `Once ${signal}`]
    const ended = await endBeforeAnswer({ home, proxy, env }, 'createnft', argv, signal)
    expect(ended.exitCode).toBe(code)
    if (code === 9) expect(JSON.parse(String(ended.stderr))).toMatchObject({ error: { code: 'unknown_outcome' } })
    const { nft_gdn_id } = await home.json<Nft>(argv, { env })
    expect((await listed(`Once ${signal}`)).map((nft) => nft.nft_gdn_id)).toEqual([nft_gdn_id])
    // Its end was reported: the same command is a new operation now.
    await home.json(argv, { env })
    expect(await listed(`Once ${signal}`)).toHaveLength(2)
  })

  it('nft grant, killed: mints one NFT with its receiver', async () => {
    const argv = ['nft', 'grant', '-c', contract, '--sender', OWNER, '--receiver', RECEIVER, '--title', 'Granted']
    await endBeforeAnswer({ home, proxy, env }, 'createnfttrans', argv, 'SIGKILL')
    await home.json(argv, { env })
    expect((await listed('Granted')).map((nft) => nft.receiver_wallet_address)).toEqual([RECEIVER])
  })

  it('nft transfer, killed: transfers once, even if the first request took effect in the meantime', async () => {
    const [nft] = await listed('Once SIGKILL')
    const argv = ['nft', 'transfer', nft?.nft_gdn_id ?? '', '--receiver', RECEIVER]
    await endBeforeAnswer({ home, proxy, env }, 'transfernft', argv, 'SIGKILL')
    const moved = await home.json(argv, { env })
    expect(moved).toMatchObject({ status: 'deployed', sender_wallet_address: OWNER, receiver_wallet_address: RECEIVER })
    const secondResult = await home.run([...argv, '--json'], { env })
    expect(secondResult.code).toBe(0)
    expect(JSON.parse(secondResult.stdout)).not.toHaveProperty('transaction_gdn_id')
    expect(JSON.parse(secondResult.stdout)).toMatchObject({ receiver_wallet_address: RECEIVER })
  })

  it('the same operation in two processes: one runs, the other fails with run_busy', async () => {
    const argv = ['nft', 'mint', '-c', contract, '--receiver', OWNER, '--title', 'Two at once']
    proxy.hold('createnft')
    const first = home.start(argv, { env })
    await proxy.held()
    const second = await home.run([...argv, '--json'], { env })
    expect(second.code).toBe(2)
    expect(JSON.parse(second.stderr)).toMatchObject({ error: { code: 'run_busy' } })
    first.kill('SIGKILL')
    await first
    proxy.hold(null)
    await home.json(argv, { env })
    expect(await listed('Two at once')).toHaveLength(1)
  })
})

describe('a single command on a server without idempotency, like the hosted one', () => {
  let home: GdnHome
  let server: Server
  let proxy: HoldingProxy
  let env: Record<string, string>
  const minted: { id: string; metadata: unknown }[] = []

  beforeAll(async () => {
    home = await makeHome()
    server = createServer(async (request, response) => {
      // Hosted services have no /healthz.
      if (request.method === 'GET') return void response.writeHead(404).end()
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk as Buffer)
      const body = JSON.parse(Buffer.concat(chunks).toString())
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify(answer(request.url?.replace('/api/v1/', '') ?? '', body)))
    })
    const { url } = await listenLocally(server)
    proxy = await startHoldingProxy(url)
    env = { GDN_BASE_URL: proxy.url, GDN_API_KEY: 'key', GDN_BLOCKCHAIN: 'polygon' }
  })

  afterAll(async () => {
    await proxy.close()
    await new Promise((resolve) => server.close(resolve))
    await home.remove()
  })

  function answer(endpoint: string, body: { metadata?: unknown[]; nft_gdn_ids?: string[] }): object {
    if (endpoint === 'createnft') {
      const ids = (body.metadata ?? []).map((metadata) => {
        minted.push({ id: `nft-${minted.length}`, metadata })
        return `nft-${minted.length - 1}`
      })
      return {
        message: 'accepted',
        requests: body,
        nfts: ids.map((id) => ({ nft_gdn_ids: id, accepted_date: '2026-01-31 12:00:00' })),
      }
    }
    if (endpoint === 'getnftgdnids') {
      return {
        requests: { contract_address: RECEIVER, blockchain: 'polygon' },
        nft_gdn_ids: minted.map(({ id }) => id),
      }
    }
    const nfts = minted.filter(({ id }) => body.nft_gdn_ids?.includes(id))
    return {
      requests: body,
      nfts: nfts.map(({ id, metadata }) => ({
        nft_gdn_id: id,
        token_id: '1',
        contract_address: RECEIVER,
        receiver_wallet_address: OWNER,
        status: 'deployed',
        request_metadata: metadata,
      })),
    }
  }

  it('nft mint, killed: finds the NFT in the collection, next to an older one with the same content', {
    tags: ['promise'],
  }, async () => {
    minted.push({ id: 'nft-0', metadata: { title: 'Hosted', description: '', file_fields: [] } })
    const argv = ['nft', 'mint', '-c', RECEIVER, '--receiver', OWNER, '--title', 'Hosted', '--yes']
    await endBeforeAnswer({ home, proxy, env }, 'createnft', argv, 'SIGKILL')
    const found = await home.json<Nft>(argv, { env })
    expect(found.nft_gdn_id).toBe('nft-1')
    expect(minted).toHaveLength(2)
  })
})
