import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freshDataDir, WALLETS } from '../helpers/backend.ts'
import { gdnAt } from '../helpers/gdn-at.ts'
import { type HttpFaultProxy, startHttpFaultProxy } from '../helpers/http-fault-proxy.ts'
import { seededRandom } from '../helpers/seed.ts'
import { type ServedBackend, serve } from '../helpers/served-backend.ts'

interface Nft {
  nft_gdn_id: string
  receiver_wallet_address: string
  request_metadata: { title: string }
}

const MACHINES = 4
const ROWS = 120
/** Receivers of a list. Each gets a request of its own. */
const RECEIVERS = 40
/** A machine is killed after up to this many requests. One that finds every row minted sends 9. */
const MAX_REQUESTS = 7

const csv = (titles: readonly string[]) =>
  ['id,title,description,receiver', ...titles.map((title, row) => `r${row},${title},one of many,${WALLETS[1]}`)].join(
    '\n',
  )

const numbered = (title: string, count: number) => Array.from({ length: count }, (_, row) => `${title} ${row}`)

describe('a manifest on several machines', () => {
  let folder: Awaited<ReturnType<typeof freshDataDir>>
  let backend: ServedBackend
  let contract: string
  const homes: string[] = []

  beforeAll(async () => {
    folder = await freshDataDir()
    backend = await serve(folder.path, ['--rate-limits', 'off']).ready
    const { gdn } = await machine()
    const created = await gdn.json<{ contract_address: string }>(
      ...['collection', 'create', '--name', 'Shared', '-b', 'polygon', '--wallet', WALLETS[0]],
    )
    contract = created.contract_address
  })
  afterAll(async () => {
    await backend.end('SIGTERM')
    await folder.remove()
    for (const home of homes) await rm(home, { recursive: true, force: true })
  })

  /** A machine with a separate state directory. */
  async function machine(url = backend.url) {
    const home = await mkdtemp(join(tmpdir(), 'gdn-machine-'))
    homes.push(home)
    return { home, gdn: gdnAt({ ...backend, url }, home) }
  }

  async function titlesOf(prefix: string): Promise<string[]> {
    const { gdn } = await machine()
    const nfts = await gdn.json<Nft[]>('nft', 'list', '-c', contract)
    return nfts.map((nft) => nft.request_metadata.title).filter((title) => title.startsWith(prefix))
  }

  test('is minted once with any chunk sizes, even if the machines are killed', async () => {
    const { random } = seededRandom('machines')
    const titles = numbered('Once', ROWS)
    let killed = 0
    const proxies: HttpFaultProxy[] = []
    await Promise.all(
      Array.from({ length: MACHINES }, async (_, number) => {
        const proxy = await startHttpFaultProxy(backend.url, { faultOf: () => null, random })
        proxies.push(proxy)
        const { gdn } = await machine(proxy.url)
        const manifest = await gdn.file('once.csv', csv(titles))
        const argv = ['batch', 'mint', manifest, '-c', contract, '--chunk-size', String(1 + number * 17)]
        for (let life = 0; life < number; life++) {
          const requests = 1 + Math.floor(random() * MAX_REQUESTS)
          const { signal } = await gdn.runAndKill(argv, (ended) => proxy.after(requests, ended))
          if (signal === 'SIGKILL') killed++
        }
        const { exitCode, stderr } = await gdn.run(...argv)
        expect(exitCode, stderr).toBe(0)
      }),
    )
    for (const proxy of proxies) await proxy.close()
    expect((await titlesOf('Once')).sort()).toEqual(titles.sort())
    expect(killed).toBeGreaterThan(0)
  })

  test('with a list of receivers gives each of them exactly its count, even if the machines are killed', async () => {
    const { random } = seededRandom('machines with a list')
    const receivers = Array.from({ length: RECEIVERS }, (_, n) => `0x${String(n + 1).padStart(40, '8')}`)
    const list = ['receiver,count', ...receivers.map((receiver, n) => `${receiver},${1 + (n % 3)}`)].join('\n')
    const proxies: HttpFaultProxy[] = []
    let killed = 0
    await Promise.all(
      [0, 1].map(async (number) => {
        const proxy = await startHttpFaultProxy(backend.url, { faultOf: () => null, random })
        proxies.push(proxy)
        const { gdn } = await machine(proxy.url)
        const row = await gdn.file('row.json', JSON.stringify({ title: 'Listed', description: 'for holders' }))
        const argv = [
          'batch',
          'mint',
          row,
          '--to',
          await gdn.file('holders.csv', list),
          '-c',
          contract,
          '--run',
          'airdrop',
        ]
        for (let life = 0; life < 2; life++) {
          const requests = 2 + Math.floor(random() * RECEIVERS)
          const { signal } = await gdn.runAndKill(argv, (ended) => proxy.after(requests, ended))
          if (signal === 'SIGKILL') killed++
        }
        const { exitCode, stderr } = await gdn.run(...argv)
        expect(exitCode, `machine ${number}: ${stderr}`).toBe(0)
      }),
    )
    for (const proxy of proxies) await proxy.close()
    const { gdn } = await machine()
    const countsOf = async (wallets: readonly string[]) => {
      const nfts = await gdn.json<Nft[]>('nft', 'list', '-c', contract)
      const listed = nfts.filter(({ request_metadata }) => request_metadata.title === 'Listed')
      return wallets.map((receiver) => listed.filter((nft) => nft.receiver_wallet_address === receiver).length)
    }
    expect(await countsOf(receivers)).toEqual(receivers.map((_, n) => 1 + (n % 3)))
    expect(killed).toBeGreaterThan(0)
    // Under another name, a further machine mints to new receivers, but not to those that already have the NFT.
    const late = [`0x${'9'.repeat(40)}`, `0x${'7'.repeat(40)}`]
    const row = await gdn.file('row.json', JSON.stringify({ title: 'Listed', description: 'for holders' }))
    const mint = async (wallets: readonly string[], ...flags: string[]) => {
      const to = await gdn.file('late.csv', wallets.join('\n'))
      return await gdn.run('batch', 'mint', row, '--to', to, '-c', contract, ...flags)
    }
    expect(await mint(late.slice(0, 1))).toMatchObject({ exitCode: 0 })
    const refused = await mint([...late, receivers[0] ?? ''])
    expect(refused.exitCode, refused.stderr).toBe(9)
    expect(refused.stderr).toContain('1 row of the manifest seems to be in the collection already')
    expect(await mint([...late, receivers[0] ?? ''], '--adopt')).toMatchObject({ exitCode: 0 })
    expect(await countsOf([...late, ...receivers])).toEqual([1, 1, ...receivers.map((_, n) => 1 + (n % 3))])
  })

  test('is rejected if it has the same name and IDs but other rows, with their lines', async () => {
    const [first, second] = [await machine(), await machine()]
    const mine = await first.gdn.file('drop.csv', csv(numbered('First', 3)))
    await first.gdn.json('batch', 'mint', mine, '-c', contract)
    const theirs = await second.gdn.file('drop.csv', csv(['First 0', 'Second 1', 'Second 2', 'Second 3']))
    const { exitCode, stderr } = await second.gdn.run('batch', 'mint', theirs, '-c', contract)
    expect(exitCode, stderr).toBe(9)
    expect(stderr).toContain('2 rows have the IDs of NFTs in this collection, but different content\n  lines 3-4')
    expect(stderr).toContain('--run')
    expect(await titlesOf('Second')).toEqual([])
    expect(await second.gdn.json('batch', 'list')).toEqual([])
    const named = await second.gdn.run('batch', 'mint', theirs, '-c', contract, '--run', 'second', '--no-lookup')
    expect(named.exitCode, named.stderr).toBe(0)
    expect(await titlesOf('Second')).toHaveLength(3)
  })

  test('is rejected on one machine if another manifest uses its IDs', async () => {
    const { gdn } = await machine()
    const one = await gdn.file('one.csv', csv(numbered('One', 3)))
    const other = await gdn.file('other.csv', csv(numbered('Other', 4)))
    await gdn.json('batch', 'mint', one, '-c', contract)
    const { exitCode, stderr } = await gdn.run('batch', 'mint', other, '-c', contract)
    expect(exitCode, stderr).toBe(2)
    expect(stderr).toMatch(/3 rows of the manifest belong to another run of this collection: one-\w+/)
    expect(await titlesOf('Other')).toEqual([])
  })
})
