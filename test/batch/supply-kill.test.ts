/** @module-tag slow */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import {
  backendForFile,
  call,
  createTestCollection,
  mint,
  plainMetadata,
  settled,
  type TestBackend,
  type TestCollection,
  WALLETS,
} from '../helpers/backend.ts'
import { gdnAt } from '../helpers/gdn-at.ts'
import { startHttpServer } from '../helpers/http-server.ts'
import { forward } from '../helpers/killing-relay.ts'

let backend: TestBackend
const homes: string[] = []

beforeAll(async () => {
  backend = await backendForFile()
})
afterAll(async () => {
  for (const home of homes) await rm(home, { recursive: true, force: true })
})

const csv = (count: number, receiverOf = (_n: number): string => WALLETS[1]) => {
  const rows = Array.from({ length: count }, (_, n) => `r${n},Piece ${n},x,${receiverOf(n)}\n`)
  return `id,title,description,receiver\n${rows.join('')}`
}

/** The outcome of a mint request before its command is killed. */
type Held = 'executed' | 'lost'

/**
 * A machine whose mint requests get no response, until it is killed. The first ones have the given outcomes, and the
 * others are lost.
 */
async function machine(outcomes: readonly Held[] = []) {
  const home = await mkdtemp(join(tmpdir(), 'gdn-supply-'))
  homes.push(home)
  let [isHolding, seen, held] = [outcomes.length > 0, 0, 0]
  let onAll = () => {}
  const all = new Promise<void>((resolve) => {
    onAll = resolve
  })
  const relay = await startHttpServer(async (request) => {
    if (!isHolding || !/\/creatednft$|\/createnft$/.test(request.path)) return await forward(backend.url, request)
    if (outcomes[seen++] === 'executed') await forward(backend.url, request)
    held++
    if (held === outcomes.length) onAll()
    return await new Promise<never>(() => {})
  })
  onTestFinished(() => relay.close())
  const gdn = gdnAt({ url: relay.url, apiKey: backend.apiKey.reveal() }, home)
  return {
    ...gdn,
    /** Runs a command, and kills it when it waits for the responses. */
    async runHeld(...argv: string[]) {
      expect(await gdn.runAndKill(argv, () => all)).toMatchObject({ signal: 'SIGKILL' })
      isHolding = false
    },
    async results(path: string) {
      const found = await gdn.run('batch', 'results', path, '--json')
      return (JSON.parse(found.stdout) as { status: string; error: string | null }[]).map(({ status, error }) =>
        status === 'failed' ? `failed: ${error}` : status,
      )
    },
  }
}

/** Mints from another machine what is left, apart from `left` NFTs. */
async function useUp(collection: TestCollection, left = 0): Promise<void> {
  const { left: all } = await supplyOf(collection)
  await settled(backend, await mint(backend, collection, plainMetadata(Number(all) - left)))
}

const supplyOf = async ({ address: contract_address }: TestCollection) =>
  await call(backend, 'getsupply', { contract_address, blockchain: 'polygon' })

const NONE_LEFT = /^failed: .*none is left of the collection's maximum supply/

test.each([
  ['batch', 'mint'],
  ['apply', '--yes'],
])(
  'a killed %s %s, repeated after another machine used up the supply, keeps what was accepted, and fails the rest',
  async (...command) => {
    const collection = await createTestCollection(backend, { max_supply: 6 })
    const one = await machine(['executed', 'lost'])
    // Each receiver gets a request of its own.
    const path = await one.file(
      'drop.csv',
      csv(6, (n) => WALLETS[n < 2 ? 0 : 1]),
    )
    const argv = [...command, path, '-c', collection.address]
    await one.runHeld(...argv)
    await useUp(collection)
    const { exitCode, stderr } = await one.run(...argv)
    expect([exitCode, stderr]).toEqual([7, expect.stringMatching(/4 rows failed:\n.* lines 4-7: .*none is left/)])
    expect(stderr).not.toContain('unknown outcome')
    expect((await one.results(path)).sort()).toEqual([
      ...Array(2).fill('deployed'),
      ...Array(4).fill(expect.stringMatching(NONE_LEFT)),
    ])
    expect(await supplyOf(collection)).toMatchObject({ minted: 6, accepted: 0, left: 0 })
    const secondResult = await one.run(...argv)
    expect(secondResult.stderr).not.toContain('outcome')
    expect(await supplyOf(collection)).toMatchObject({ minted: 6, accepted: 0, left: 0 })
  },
)

test('a lost request whose first rows another machine minted keeps these NFTs, and fails the others', async () => {
  const collection = await createTestCollection(backend, { max_supply: 2 })
  const [one, other] = [await machine(['lost']), await machine()]
  const minting = (path: string) => ['batch', 'mint', path, '-c', collection.address, '--run', 'shared']
  const path = await one.file('drop.csv', csv(2))
  await one.runHeld(...minting(path))
  // The other machine mints the first row, and someone else the last NFT.
  expect(await other.run(...minting(await other.file('drop.csv', csv(1))))).toMatchObject({ exitCode: 0 })
  await useUp(collection)
  const { exitCode, stderr } = await one.run(...minting(path))
  expect(exitCode, stderr).toBe(7)
  expect(await one.results(path)).toEqual(['deployed', expect.stringMatching(NONE_LEFT)])
  expect(await supplyOf(collection)).toMatchObject({ minted: 2, accepted: 0, left: 0 })
})

test('a killed run with rows that were never sent mints those that still fit, and fails the others', async () => {
  const ROWS = 40
  const collection = await createTestCollection(backend, { max_supply: ROWS })
  const one = await machine(['lost', 'executed'])
  const path = await one.file('drop.csv', csv(ROWS))
  const argv = ['batch', 'mint', path, '-c', collection.address, '--chunk-size', '1']
  await one.runHeld(...argv)
  await useUp(collection, 3)
  const planned = await one.run(...argv, '--dry-run')
  expect(planned.stderr).toMatch(/\d+ rows to mint, but only 3 are left .*\. Rows beyond the maximum supply will fail/)
  const { exitCode, stderr } = await one.run(...argv)
  expect(exitCode, stderr).toBe(7)
  const results = await one.results(path)
  expect(results.filter((one) => one === 'deployed')).toHaveLength(4)
  expect(results.filter((one) => NONE_LEFT.test(one))).toHaveLength(ROWS - 4)
  expect(await supplyOf(collection)).toMatchObject({ minted: ROWS, accepted: 0, left: 0 })
})
