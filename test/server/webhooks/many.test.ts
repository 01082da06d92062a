/** @module-tag slow */
import type { ServerResponse } from 'node:http'
import { expect, it } from 'vitest'
import {
  createTestCollection,
  freshDataDir,
  mint,
  plainMetadata,
  startTestBackend,
  until,
} from '../../helpers/backend.ts'
import { report } from '../../helpers/seed.ts'
import { startReceiver } from '../../helpers/webhook-receiver.ts'
import { makeWebhook, shownWebhook } from '../../helpers/webhooks.ts'

const NFTS = process.env.GDN_SOAK === '1' ? 2000 : 400
const TO_A_REQUEST = 200

it(`delivers one event for each of ${NFTS} NFTs, with at most four requests at a time and 200 per second`, async () => {
  const dataDir = await freshDataDir()
  // The first four get their response when all of them are there, and others soon.
  const waiting: ServerResponse[] = []
  const receiver = await startReceiver((response, _received, index) => {
    if (index >= 4) return void setTimeout(() => response.end(), 15)
    if (waiting.push(response) === 4) for (const each of waiting) each.end()
  })
  const backend = await startTestBackend(dataDir.path, { logLevel: 'silent' })
  try {
    const { id } = await makeWebhook(dataDir.path, receiver.url, ['nft.deployed'])
    const collection = await createTestCollection(backend)
    const since = performance.now()
    const ids: string[] = []
    for (let at = 0; at < NFTS; at += TO_A_REQUEST) {
      ids.push(...(await mint(backend, collection, plainMetadata(TO_A_REQUEST))))
    }
    await until(
      async () => receiver.received.length,
      (count) => count >= NFTS,
      60_000 + NFTS * 40,
    )
    const seconds = (performance.now() - since) / 1000
    await until(
      () => shownWebhook(dataDir.path, id),
      ({ delivered }) => delivered === NFTS,
    )
    expect(receiver.received).toHaveLength(NFTS)
    expect(new Set(receiver.events().map(({ data }) => data.nft_gdn_id))).toEqual(new Set(ids))
    expect(receiver.most).toBe(4)
    expect(NFTS / seconds).toBeLessThan(200)
    report({ nfts: NFTS, seconds: Number(seconds.toFixed(1)), perSecond: Math.round(NFTS / seconds) })
  } finally {
    await backend.close()
    await receiver.close()
    await dataDir.remove()
  }
})
