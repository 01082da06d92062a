import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, expect, it, vi } from 'vitest'
import { openRemote } from '../../../../../src/server/chain/remote.ts'
import { createProviders } from '../../../../../src/server/chain/rpc/providers.ts'
import { openStore } from '../../../../../src/server/store/open-store.ts'
import { freshDataDir } from '../../../../helpers/backend.ts'

const undo: (() => unknown)[] = []
afterEach(async () => {
  vi.useRealTimers()
  for (const step of undo.splice(0).reverse()) await step()
})

it('skips a hanging network when signing, so that other networks are signed for in the same turn', async () => {
  const dir = await freshDataDir()
  const store = await openStore(join(dir.path, 'gdn.db'))
  const mute = createServer(() => {})
  await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve))
  undo.push(
    () => dir.remove(),
    () => store.close(),
    () => mute.close(),
    () => mute.closeAllConnections(),
  )
  const rpcUrls = [`http://127.0.0.1:${(mute.address() as AddressInfo).port}`]
  const depths = { confirmations: 1, finality: 2, pollMs: 100, stuckMs: 1000, feeCap: 10n ** 12n, mintsInFlight: 16 }
  const polygon = { blockchain: 'polygon', chainId: 137, rpcUrls, ...depths } as const
  vi.useFakeTimers({ toFake: ['performance'] })
  const remote = await openRemote({
    settings: new Map([['polygon', { ...polygon, blockExplorerUrl: null, operators: [], requestLimits: new Map() }]]),
    ...{ db: store.db, now: Date.now, providers: createProviders(), openSigners: async () => [] },
  })
  undo.push(() => remote.close())
  vi.advanceTimersByTime(10_001)
  await expect(remote.signing('polygon')).rejects.toMatchObject({
    code: 'unreachable',
    message: 'no node of polygon responds',
  })
})
