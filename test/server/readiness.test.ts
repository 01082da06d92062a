/** @module-tag slow */
import { rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { EvmBlockchain } from '../../src/api/blockchains.ts'
import { openRemote } from '../../src/server/chain/remote.ts'
import { createProviders } from '../../src/server/chain/rpc/providers.ts'
import { watchReadiness } from '../../src/server/readiness.ts'
import type { ChainSettings } from '../../src/server/settings/types.ts'
import { recordChain } from '../../src/server/store/chains.ts'
import { MIGRATIONS } from '../../src/server/store/migrations/index.ts'
import { openStore, type Store } from '../../src/server/store/open-store.ts'
import { freshDataDir, temporaryDataDir, until } from '../helpers/backend.ts'
import { type StandInNode, startNode } from '../helpers/rpc-node.ts'
import { SILENT_LOG } from '../helpers/silent-log.ts'
import { createSmallDisk } from '../helpers/small-disk.ts'

const SIGNER = '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359'
const GWEI = '0x3b9aca00'
const YES = `0x${'1'.padStart(64, '0')}`
const RICH = '0xde0b6b3a7640000'

let dir: string
let store: Store
const undo: (() => unknown)[] = []

beforeEach(async () => {
  dir = await temporaryDataDir()
  store = await openStore(join(dir, 'gdn.db'))
})
afterEach(async () => {
  vi.restoreAllMocks()
  for (const step of undo.splice(0).reverse()) await step()
  await store.close()
})

/** Responses of a node of a network with one working signer. */
const answers = (chainId: number) => ({
  eth_chainId: `0x${chainId.toString(16)}`,
  eth_getBlockByNumber: { baseFeePerGas: GWEI },
  eth_maxPriorityFeePerGas: GWEI,
  eth_getBalance: RICH as string,
  eth_getTransactionCount: '0x0',
  eth_call: YES as string,
})

async function node(chainId: number): Promise<StandInNode> {
  const started = await startNode(answers(chainId))
  undo.push(() => started.close())
  return started
}

async function ready(
  nodes: Partial<Record<EvmBlockchain, { chainId: number; urls: readonly string[] }>> = {},
  { storage = [] as string[], dataDir = dir } = {},
) {
  const settings = new Map<EvmBlockchain, ChainSettings>()
  for (const [blockchain, { chainId, urls }] of Object.entries(nodes) as [
    EvmBlockchain,
    NonNullable<(typeof nodes)['polygon']>,
  ][]) {
    await recordChain(store.db, {
      ...{ blockchain, network: 'remote', chain_id: chainId, genesis_timestamp: 0 },
      ...{ factory_address: SIGNER, created_at: 1 },
    })
    settings.set(blockchain, {
      ...{ blockchain, chainId, rpcUrls: urls, confirmations: 1, finality: 2, pollMs: 100, stuckMs: 1000 },
      ...{
        feeCap: 10n ** 12n,
        mintsInFlight: 16,
        isTestNetwork: false,
        blockExplorerUrl: null,
        operators: [],
        requestLimits: new Map(),
      },
    })
  }
  const remote = await openRemote({
    ...{ db: store.db, settings, now: Date.now, log: SILENT_LOG, providers: createProviders() },
    openSigners: async () => [{ address: SIGNER, sign: () => Promise.reject(new Error('nothing is signed here')) }],
  })
  undo.push(() => remote.close())
  const readiness = watchReadiness({ store, storage: { problems: () => storage }, networks: [remote], dataDir })
  // Until its first response, a network counts as unreachable.
  await until(readiness.check, ({ problems, warnings }) => [...problems, ...warnings].every((one) => !isUnknown(one)))
  return readiness
}

const isUnknown = (reason: string) => reason.endsWith('no node has responded yet') && !reason.startsWith(MUTE)
/** The network whose node never responds. */
const MUTE = 'optimism'

/** Makes the last results of all networks too old to be used. */
function age(): void {
  ahead += 5000
  vi.spyOn(performance, 'now').mockImplementation(() => now() + ahead)
}
const now = performance.now.bind(performance)
let ahead = 0

const nothing = { problems: [], warnings: [] }

describe('a process is ready', () => {
  it('with a working database, data dir, storage and configured networks', async () => {
    expect(await (await ready()).check()).toEqual(nothing)
    const { url } = await node(137)
    expect(await (await ready({ polygon: { chainId: 137, urls: [url] } })).check()).toEqual(nothing)
  })

  it('as long as one node of a network responds', async () => {
    const gone = await node(137)
    const there = await node(137)
    const { check } = await ready({ polygon: { chainId: 137, urls: [gone.url, there.url] } })
    await gone.close()
    expect(await check()).toEqual(nothing)
  })

  it.each([
    ['has no funds', { eth_getBalance: '0x0' }, '0 POL on polygon and needs'],
    [
      'is not authorized',
      { eth_call: `0x${'0'.repeat(64)}` },
      'the factory of polygon has authorized none of the signers',
    ],
  ])('with a warning if the only signer of its network %s, as NFTs can still be read', async (_, changed, reason) => {
    const only = await node(137)
    Object.assign(only.answers, changed)
    const { check } = await ready({ polygon: { chainId: 137, urls: [only.url] } })
    expect(await check()).toEqual({ problems: [], warnings: [expect.stringContaining(reason)] })
  })
})

describe('a process is not ready, with the reason,', () => {
  it('while it stops', async () => {
    const { check, markStopping } = await ready()
    markStopping()
    expect(await check()).toEqual({ problems: ['this process is stopping'], warnings: [] })
  })

  it('while no node of its network responds', async () => {
    const only = await node(137)
    const { check } = await ready({ polygon: { chainId: 137, urls: [only.url] } })
    expect(await check()).toEqual(nothing)
    only.refuse(true)
    age()
    const away = await until(check, ({ problems }) => problems.length > 0)
    expect(away.problems).toEqual([expect.stringMatching(/^polygon: the node at 127\.0\.0\.1:\d+ returned HTTP 500$/)])
    only.refuse(false)
    age()
    expect(await until(check, ({ problems }) => problems.length === 0)).toEqual(nothing)
  })

  it('if its node is of another chain', async () => {
    const { url } = await node(1)
    const { check } = await ready({ polygon: { chainId: 137, urls: [url] } })
    expect((await check()).problems).toEqual([
      expect.stringMatching(/^polygon: the node at .* belongs to chain 1, not 137$/),
    ])
  })

  it('while all of its networks are unreachable; one of several is only a warning', async () => {
    const [first, second] = [await node(137), await node(10)]
    const { check } = await ready({
      polygon: { chainId: 137, urls: [first.url] },
      optimism: { chainId: 10, urls: [second.url] },
    })
    expect(await check()).toEqual(nothing)
    first.refuse(true)
    age()
    const one = await until(check, ({ warnings }) => warnings.length > 0)
    expect(one).toEqual({ problems: [], warnings: [expect.stringMatching(/^polygon: /)] })
    second.refuse(true)
    age()
    const both = await until(check, ({ problems }) => problems.length > 0)
    expect(both).toEqual({
      problems: [expect.stringMatching(/^polygon: /), expect.stringMatching(/^optimism: /)],
      warnings: [],
    })
  })

  it('if its only network never responds; one of several is a warning and causes no delay', async () => {
    const mute = createServer(() => {})
    await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve))
    undo.push(
      () => mute.closeAllConnections(),
      () => mute.close(),
    )
    const optimism = { chainId: 10, urls: [`http://127.0.0.1:${(mute.address() as AddressInfo).port}`] }
    const reason = 'optimism: no node has responded yet'
    expect(await (await ready({ optimism })).check()).toEqual({ problems: [reason], warnings: [] })
    const { url } = await node(137)
    const { check } = await ready({ optimism, polygon: { chainId: 137, urls: [url] } })
    expect(await check()).toEqual({ problems: [], warnings: [reason] })
  })

  it('while the storage is unreachable', async () => {
    const { check } = await ready({}, { storage: ['the bucket art can not be reached'] })
    expect((await check()).problems).toEqual(['the bucket art can not be reached'])
  })

  it('if the database is unreadable', async () => {
    const { check } = await ready()
    await store.close()
    expect((await check()).problems).toEqual([expect.stringMatching(/^the database can't be read: /)])
    store = await openStore(join(dir, 'gdn.db'))
  })

  it('if the database lacks migrations; those of a newer gdn are a warning, as the first new process migrates', async () => {
    const { check } = await ready()
    await sql`delete from kysely_migration`.execute(store.db)
    expect((await check()).problems).toEqual([
      `the database lacks migrations (${Object.keys(MIGRATIONS).join(', ')}): run gdn db migrate`,
    ])
    await sql`insert into kysely_migration values ('9999-later', '')`.execute(store.db)
    expect((await check()).warnings).toEqual(['the database was migrated by a newer version of gdn (9999-later)'])
  })

  it('if the data dir is missing', async () => {
    const other = await freshDataDir()
    const { check } = await ready({}, { dataDir: other.path })
    await rm(other.path, { recursive: true })
    expect((await check()).problems).toEqual([expect.stringMatching(/^the data directory is not writable: .*ENOENT/)])
  })

  it('while the disk of the data dir is full', async () => {
    const disk = await createSmallDisk(1024)
    // Not every machine and user can mount one.
    if (typeof disk === 'string') return expect(disk).toContain("can't be mounted here")
    undo.push(() => disk.remove())
    const { check } = await ready({}, { dataDir: disk.path })
    expect((await check()).problems).toEqual([
      expect.stringMatching(/^the disk of the data directory is full: .* free$/),
    ])
  })
})
