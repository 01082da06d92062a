import { inspect } from 'node:util'
import { afterAll, expect, it } from 'vitest'
import { sleep } from '../../src/core/time.ts'
import { freshDataDir, until, withStore } from '../helpers/backend.ts'
import { type ChildBackend, startedChild } from '../helpers/backend-child.ts'
import { report, seededRandom } from '../helpers/seed.ts'
import { balanceOf, readChain, readMint, SOLANA_COLLECTION, solanaWallet } from '../helpers/solana.ts'

const NFTS = 200
const KILLS = 8

const dirs: Awaited<ReturnType<typeof freshDataDir>>[] = []
afterAll(async () => {
  for (const dir of dirs) await dir.remove()
})

interface Answer {
  response: { transaction_gdn_id: string }
  collections: { contract_address: string; status: string }[]
  nfts: { nft_gdn_ids: string; status: string; token_id: string; metadata_url: string }[]
}

it(`mints each of ${NFTS} NFTs once although the backend is killed at random moments`, {
  timeout: 180_000,
}, async () => {
  const { random } = seededRandom('solana kills')
  const dir = await freshDataDir()
  dirs.push(dir)
  let backend: ChildBackend | null = await startedChild(dir.path)

  /** Sends the same bytes with the same key until it gets a response. Fails if the response isn't 200. */
  const ask = async (path: string, body: unknown, key?: string): Promise<Answer> => {
    const attempt = async (): Promise<{ status: number; json: unknown } | null> => {
      if (backend === null) return null
      const response = await fetch(`${backend.url}/api/v1/${path}`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'x-api-key': backend.apiKey,
          ...(key === undefined ? {} : { 'idempotency-key': key }),
        },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(5000),
      })
      return { status: response.status, json: await response.json() }
    }
    const response = await until(
      () => attempt().catch(() => null),
      (response) => response !== null,
    )
    if (response?.status !== 200) throw new Error(`${path} returned ${inspect(response)}`)
    return response.json as Answer
  }

  const receiver = (index: number) => solanaWallet(index % 5)
  const drop = async () => {
    const creation = await ask('createcollection', { name: 'Killed', ...SOLANA_COLLECTION }, 'collection')
    const ids = { transaction_gdn_ids: [creation.response.transaction_gdn_id] }
    const contract_address = (await ask('getcollections', ids)).collections[0]?.contract_address ?? ''
    const accepted: string[] = []
    while (accepted.length < NFTS) {
      const at = accepted.length
      const count = Math.min(NFTS - at, 1 + Math.floor(random() * 8))
      const metadata = Array.from({ length: count }, (_, i) => ({
        title: `#${at + i}`,
        description: '',
        file_fields: [],
      }))
      const body = { contract_address, blockchain: 'solana', receiver_wallet_address: receiver(at), metadata }
      const { nfts } = await ask('createnft', body, `nft ${at}`)
      accepted.push(...nfts.map((nft) => nft.nft_gdn_ids))
      await sleep(random() * 80)
    }
    return { contract_address, accepted }
  }
  const dropping = drop()

  for (let kill = 0; kill < KILLS; kill++) {
    await sleep(random() * 250)
    const killed: ChildBackend = backend
    backend = null
    await killed.kill('SIGKILL')
    backend = await startedChild(dir.path)
  }
  const { contract_address, accepted } = await dropping
  const { nfts } = await until(
    () => ask('getnfts', { nft_gdn_ids: accepted }),
    ({ nfts }) => nfts.every(({ status }) => status !== 'initiated'),
  )
  await backend.kill('SIGTERM')

  expect(nfts.filter(({ status }) => status !== 'deployed')).toEqual([])
  expect(new Set(nfts.map((nft) => nft.token_id)).size).toBe(NFTS)
  const machine = await readChain(dir.path)
  expect(readMint(machine, contract_address)?.group?.size).toBe(BigInt(NFTS))
  for (const nft of nfts) {
    const found = readMint(machine, nft.token_id)
    expect([found?.supply, found?.metadata?.uri]).toEqual([1n, nft.metadata_url])
  }
  const balances = []
  for (const nft of nfts) for (let i = 0; i < 5; i++) balances.push(await balanceOf(machine, nft.token_id, receiver(i)))
  expect(balances.filter((amount) => amount === 1n)).toHaveLength(NFTS)
  const counts = await withStore(dir.path, ({ db }) =>
    db
      .selectFrom('transactions')
      .select(({ fn }) => ['state', fn.countAll<number>().as('count')])
      .groupBy('state')
      .execute(),
  )
  report({ kills: KILLS, counts })
  expect(counts).toEqual([{ state: 'final', count: NFTS + 1 }])
})
