import { createServer } from 'node:http'
import { join } from 'node:path'
import { afterEach, expect, it, vi } from 'vitest'
import { openRemote } from '../../../../../src/server/chain/remote.ts'
import { createProviders } from '../../../../../src/server/chain/rpc/providers.ts'
import { openStore } from '../../../../../src/server/store/open-store.ts'
import { freshDataDir } from '../../../../helpers/backend.ts'
import { listenLocally } from '../../../../helpers/http-server.ts'
import { startNode } from '../../../../helpers/rpc-node.ts'
import { SILENT_LOG } from '../../../../helpers/silent-log.ts'

const undo: (() => unknown)[] = []
afterEach(async () => {
  vi.useRealTimers()
  for (const step of undo.splice(0).reverse()) await step()
})

it('skips a hanging network when signing, so that other networks are signed for in the same turn', async () => {
  const dir = await freshDataDir()
  const store = await openStore(join(dir.path, 'gdn.db'))
  const mute = createServer(() => {})
  const { url, close } = await listenLocally(mute)
  undo.push(
    () => dir.remove(),
    () => store.close(),
    close,
  )
  const depths = {
    confirmations: 1,
    finality: 2,
    pollMs: 100,
    stuckMs: 1000,
    feeCap: 10n ** 12n,
    mintsInFlight: 16,
    isTestNetwork: false,
  }
  const polygon = { blockchain: 'polygon', chainId: 137, rpcUrls: [url], ...depths } as const
  vi.useFakeTimers({ toFake: ['performance'] })
  const remote = await openRemote({
    settings: new Map([['polygon', { ...polygon, blockExplorerUrl: null, operators: [], requestLimits: new Map() }]]),
    ...{ db: store.db, now: Date.now, log: SILENT_LOG, providers: createProviders(), openSigners: async () => [] },
  })
  undo.push(() => remote.close())
  vi.advanceTimersByTime(10_001)
  await expect(remote.signing('polygon')).rejects.toMatchObject({
    code: 'unreachable',
    message: 'no node of polygon responds',
  })
})

it('signs nothing while the base fee is above the highest configured fee, and takes no nonce', async () => {
  const dir = await freshDataDir()
  const store = await openStore(join(dir.path, 'gdn.db'))
  const answers = {
    ...{ eth_chainId: '0x89', eth_blockNumber: '0x1', eth_maxPriorityFeePerGas: '0x3b9aca00' },
    eth_getBlockByNumber: { baseFeePerGas: `0x${(31n * 10n ** 9n).toString(16)}` },
  }
  const node = await startNode(answers)
  undo.push(
    () => dir.remove(),
    () => store.close(),
    () => node.close(),
  )
  const depths = { confirmations: 1, finality: 2, pollMs: 100, stuckMs: 1000, mintsInFlight: 16, isTestNetwork: false }
  const polygon = { blockchain: 'polygon', chainId: 137, rpcUrls: [node.url], ...depths } as const
  const open = async (gwei: bigint) => {
    const chain = {
      ...polygon,
      feeCap: gwei * 10n ** 9n,
      blockExplorerUrl: null,
      operators: [],
      requestLimits: new Map(),
    }
    const remote = await openRemote({
      settings: new Map([['polygon', chain]]),
      ...{ db: store.db, now: Date.now, log: SILENT_LOG, providers: createProviders(), openSigners: async () => [] },
    })
    undo.push(() => remote.close())
    return remote
  }
  await expect((await open(30n)).signing('polygon')).rejects.toMatchObject({
    code: 'pending',
    message: 'polygon: waiting until the base fee of 31 gwei falls below 30 gwei (max_fee_gwei)',
  })
  expect(await store.db.selectFrom('signer_nonces').selectAll().execute()).toEqual([])
  const signing = await (await open(32n)).signing('polygon').catch((error: unknown) => error)
  expect(signing).not.toMatchObject({ code: 'pending' })
})
