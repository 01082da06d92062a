/** @module-tag slow */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshDataDir, WALLETS, withStore } from '../helpers/backend.ts'
import { gdnAt } from '../helpers/gdn-at.ts'
import { report, seededRandom } from '../helpers/seed.ts'
import { type ServedBackend, serve } from '../helpers/served-backend.ts'
import { verifyReveal } from '../helpers/verify-reveal.ts'

const IS_SOAK = process.env.GDN_SOAK === '1'
const ROWS = IS_SOAK ? 5_000 : 100
const KILLS = IS_SOAK ? 20 : 4
const MINT_KILLS = 4
const MATCHES = new RegExp(
  `^The revealed metadata of token \\d+ matches row \\d+ of ${ROWS} in commitment 0x[0-9a-f]{64}, made before token \\d+ was minted\\.$`,
  'm',
)
const MAX_MS = IS_SOAK ? 20_000 : 2_500

interface Nft {
  nft_gdn_id: string
  token_id: string
  revision: number
  request_metadata: { title: string; provenance_row?: string }
}

let folder: Awaited<ReturnType<typeof freshDataDir>>
let backend: ServedBackend
const homes: string[] = []

beforeAll(async () => {
  folder = await freshDataDir()
  backend = await serve(folder.path, ['--rate-limits', 'off']).ready
})
afterAll(async () => {
  await backend.end('SIGTERM')
  await folder.remove()
  for (const home of homes) await rm(home, { recursive: true, force: true })
})

/** A machine with the manifest and its files. */
async function machine(rows: readonly string[]) {
  const home = await mkdtemp(join(tmpdir(), 'gdn-reveal-'))
  homes.push(home)
  const gdn = gdnAt(backend, home)
  await mkdir(join(home, 'art'))
  for (const row of rows.keys()) await writeFile(join(home, `art/${row}.txt`), `picture ${row}`)
  await writeFile(join(home, 'art/hidden.txt'), 'hidden')
  const manifest = await gdn.file('drop.csv', rows.join('\n'))
  const hidden = { title: 'Hidden', description: 'Not revealed yet', image: 'art/hidden.txt' }
  const placeholder = await gdn.file('hidden.json', JSON.stringify(hidden))
  return { ...gdn, home, manifest, placeholder }
}

const HEADER = 'id,title,description,image,receiver,attr:level'
const rowsOf = (n: number) => [
  HEADER,
  ...Array.from({ length: n }, (_, row) => `r${row},Title ${row},x,art/${row}.txt,${WALLETS[row % 2]},${row % 7}`),
]

const newCollection = async (gdn: { json<Result>(...argv: string[]): Promise<Result> }) =>
  (
    await gdn.json<{ contract_address: `0x${string}` }>(
      ...['collection', 'create', '--name', 'Hidden', '-b', 'polygon', '--wallet', WALLETS[0]],
    )
  ).contract_address

test('a reveal that is killed gives each NFT the metadata that was committed to, once', {
  timeout: IS_SOAK ? 3_600_000 : 240_000,
}, async () => {
  const { random } = seededRandom('reveal')
  const rows = rowsOf(ROWS)
  const [one, other] = [await machine(rows), await machine(rows)]
  const contract = await newCollection(one)
  const mint = ['batch', 'mint', one.manifest, '--unrevealed', one.placeholder, '-c', contract]
  let killed = 0
  for (let life = 0; life < MINT_KILLS; life++) {
    if ((await one.runAndKill(mint, Math.floor(random() * MAX_MS))).signal === 'SIGKILL') killed++
  }
  const minted = await one.run(...mint)
  expect([0, 2], minted.stderr).toContain(minted.exitCode)
  const hidden = await one.json<Nft[]>('nft', 'list', '-c', contract)
  expect(hidden).toHaveLength(ROWS)
  expect(new Set(hidden.map(({ request_metadata: { title } }) => title))).toEqual(new Set(['Hidden']))

  for (let life = 0; life < KILLS; life++) {
    const gdn = random() < 0.5 ? one : other
    const { signal } = await gdn.runAndKill(
      ['reveal', gdn.manifest, '-c', contract, '--yes'],
      Math.floor(random() * MAX_MS),
    )
    if (signal === 'SIGKILL') killed++
  }
  for (const gdn of [one, other]) {
    expect(await gdn.json('reveal', gdn.manifest, '-c', contract, '--yes')).toMatchObject({
      revealed: ROWS,
      to_reveal: 0,
    })
  }
  const shown = await one.json<Nft[]>('nft', 'list', '-c', contract)
  const [first] = shown
  const verified = await one.run('nft', 'verify', first?.nft_gdn_id ?? '', '--on-chain')
  expect({ ...verified, stdout: '' }).toMatchObject({
    exitCode: 0,
    stderr: expect.stringMatching(MATCHES),
  })
  const { rows: counts } = await withUpdates(
    sql<{ n: number; most: number }>`select count(*) as n, max(c) as most from
      (select count(*) as c from updates where kind = 'update' and status = 'deployed' group by nft_id) as counted`,
  )
  expect(counts).toEqual([{ n: ROWS, most: 1 }])
  backend = await serve(folder.path, ['--rate-limits', 'off']).ready
  const proven = await verifyReveal(`${backend.url}/rpc/polygon`, backend.url, contract)
  expect(proven.size).toBe(ROWS)
  for (const { token_id, request_metadata } of shown) {
    expect(request_metadata.title).toBe(`Title ${Number(proven.get(token_id)) - 1}`)
  }
  report({ killed })
})

test('the rows of an unrevealed drop count as edited only if its manifest was edited', async () => {
  const gdn = await machine(rowsOf(2))
  const contract = await newCollection(gdn)
  await gdn.json('batch', 'mint', gdn.manifest, '--unrevealed', gdn.placeholder, '-c', contract)
  const edited = async () => {
    const { stdout, stderr } = await gdn.run('batch', 'results', gdn.manifest, '--json')
    const rows = JSON.parse(stdout) as { status: string; line: number }[]
    expect(stderr).toBe('')
    return rows.flatMap(({ status, line }) => (status === 'edited' ? line : []))
  }
  expect(await edited()).toEqual([])
  expect((await gdn.run('batch', 'resume', gdn.manifest)).stderr).not.toContain('has changed')
  await gdn.file('drop.csv', rowsOf(2).join('\n').replace('Title 1', 'Another title'))
  expect(await edited()).toContain(3)
  await gdn.file('drop.csv', rowsOf(2).join('\n'))
  await gdn.json('reveal', gdn.manifest, '-c', contract, '--yes')
  expect(await edited()).toEqual([])
  await gdn.file('drop.csv', rowsOf(2).join('\n').replace('Title 1', 'Another title'))
  expect(await edited()).toEqual([3])
})

async function withUpdates<Row>(query: ReturnType<typeof sql<Row>>) {
  await backend.end('SIGTERM')
  return await withStore(folder.path, ({ db }) => query.execute(db))
}
