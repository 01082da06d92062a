import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readListRows } from '../../src/manifest/list-rows.ts'
import { FakeHostedApi } from '../helpers/fake-hosted-api.ts'
import { seededFrom, seededRandom } from '../helpers/seed.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { buildBatchProcess, listen, runBatchProcess } from './batch-processes.ts'
import { Killer, killableDatabase, Machine } from './simulation.ts'

const SOAK = process.env.GDN_SOAK === '1'
const SEEDS = [1, 2, 3]
const RECEIVERS = 24
const LIVES = 8
/** A process is killed at a statement up to this one. A run takes more. */
const MAX_STEP = 250
const [MANY, KILLS] = [5_000, 30]

const walletOf = (n: number) => `0x${'7'.repeat(32)}${n.toString(16).padStart(8, '0')}`

/** How many NFTs each receiver gets: 1, 2 or 3. */
const countOf = (n: number) => 1 + (n % 3)

const listText = (numbers: readonly number[]) =>
  `receiver,count\n${numbers.map((n) => `${walletOf(n)},${countOf(n)}\n`).join('')}`

async function rowAndList() {
  const folder = await temporaryFolder('gdn-list-')
  const [row, list] = [join(folder, 'row.json'), join(folder, 'holders.csv')]
  await writeFile(row, JSON.stringify({ title: 'Ticket', description: 'for holders' }))
  return { folder, row, list, write: (numbers: readonly number[]) => writeFile(list, listText(numbers)) }
}

const all = (count: number) => Array.from({ length: count }, (_, n) => n + 1)
const expected = (count: number) => Object.fromEntries(all(count).map((n) => [walletOf(n), countOf(n)]))

/** The number of NFTs that each receiver got. */
function received({ minted }: FakeHostedApi): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { receiver } of minted.values()) counts[receiver.toLowerCase()] = (counts[receiver.toLowerCase()] ?? 0) + 1
  return counts
}

test.each(SEEDS)('a list that changes, and is killed at any step, mints each count exactly (seed %i)', async (seed) => {
  const random = seededFrom(seed)
  const { row, list, write } = await rowAndList()
  const machine = await Machine.start()
  const server = new FakeHostedApi({ idempotency: true, now: machine.time.now })
  const stored = { path: list, merge: false, skipsContracts: false }
  const options = { runName: 'airdrop', newRows: true, reading: { list: stored } }
  const read = () =>
    readListRows(row, { ...stored, source: { path: list } }, { blockchain: 'polygon', localFiles: false })
  let kills = 0
  for (let life = 0; life < LIVES; life++) {
    await write(all(RECEIVERS).filter((n) => n === 1 || random() < 0.6))
    const killer = new Killer(1 + Math.floor(random() * MAX_STEP))
    const deps = { readManifest: read, openDatabase: killableDatabase(killer) }
    await machine.run(server, null, options, deps).catch((error: unknown) => {
      if (!killer.crashed) throw error
    })
    if (killer.crashed) kills++
    killer.revive()
    await machine.bury()
  }
  await write(all(RECEIVERS))
  await machine.run(server, null, options, { readManifest: read })
  expect(received(server)).toEqual(expected(RECEIVERS))
  expect(kills).toBeGreaterThan(LIVES / 2)
  await machine.stop()
})

test.runIf(SOAK)(
  `a list of ${MANY} receivers whose process is killed ${KILLS} times mints each count exactly`,
  { timeout: 1_800_000 },
  async () => {
    const { random, seed } = seededRandom('list-kill')
    const { folder, row, list, write } = await rowAndList()
    await write(all(MANY))
    const script = await buildBatchProcess(folder, new URL('./list-process.ts', import.meta.url))
    let left = 0
    let kill = () => {}
    const onArrival = () => {
      left -= 1
      if (left === 0) kill()
    }
    const api = new FakeHostedApi({ idempotency: true, nullUntilDeployed: true, pollsToDeploy: 1, onArrival })
    const argv = [script, await listen(api, true, seed), folder, row, list]
    for (let kills = 0; kills < KILLS; kills++) {
      left = 1 + Math.floor((random() * MANY) / KILLS)
      const end = await runBatchProcess(argv, (killIt) => {
        kill = killIt
      })
      expect(end).toBe('killed')
    }
    left = Number.POSITIVE_INFINITY
    expect(await runBatchProcess(argv, null)).toMatchObject({ exitCode: 0 })
    expect(received(api)).toEqual(expected(MANY))
  },
)
