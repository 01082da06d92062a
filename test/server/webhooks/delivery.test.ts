/** @module-tag slow */
import type { ServerResponse } from 'node:http'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { listWebhooks, removeWebhook, replayDeliveries, testWebhook } from '../../../src/server/admin/webhooks.ts'
import { withDatabase } from '../../../src/server/open-database.ts'
import type { Timings } from '../../../src/server/pipeline/webhooks/schedule.ts'
import {
  backendForFile,
  createTestCollection,
  mint,
  plainMetadata,
  settled,
  type TestBackend,
  type TestCollection,
  until,
} from '../../helpers/backend.ts'
import { placeOf } from '../../helpers/test-database.ts'
import { type Receiver, startReceiver } from '../../helpers/webhook-receiver.ts'
import { deliveriesOf, makeWebhook, shownWebhook } from '../../helpers/webhooks.ts'

/** Short timings instead of three days; a test may change them. */
const HASTY: Timings = { pollMs: 100, retryMs: () => 50, pauseMs: () => 0, giveUpAfterMs: 600_000 }
const timings = { ...HASTY }

let backend: TestBackend
let collection: TestCollection
const receivers: Receiver[] = []

beforeAll(async () => {
  backend = await backendForFile({ webhooks: { timings } })
  collection = await createTestCollection(backend)
  await settled(backend, await mint(backend, collection, plainMetadata(1)))
})
afterEach(async () => {
  Object.assign(timings, HASTY)
  await inStore(async (store) => {
    for (const { id } of await listWebhooks(store, Date.now())) await removeWebhook(store, id, Date.now())
  })
  for (const receiver of receivers.splice(0)) await receiver.close()
})

async function receiverThat(...answer: Parameters<typeof startReceiver>): Promise<Receiver> {
  const receiver = await startReceiver(...answer)
  receivers.push(receiver)
  return receiver
}

const inStore = async <Result>(work: Parameters<typeof withDatabase<Result>>[1]) =>
  withDatabase(await placeOf(backend.dataDir), work)

const mintSome = async (count: number) => settled(backend, await mint(backend, collection, plainMetadata(count)))

/** Resolves when no request to the only webhook is in flight, after a number of failures in a row. */
const atRest = (failures: number) =>
  until(
    () => inStore(({ db }) => db.selectFrom('webhooks').select(['failures', 'lease_until']).executeTakeFirst()),
    (webhook) => webhook?.lease_until === 0 && webhook.failures >= failures,
  )

/** Resolves after the backend has looked for due deliveries of all webhooks. */
async function afterNextLook(): Promise<void> {
  const receiver = await receiverThat()
  const { id } = await makeWebhook(backend.dataDir, receiver.url, ['nft.failed'])
  // What was due before the first test event is sent before the second.
  for (const count of [1, 2]) {
    await inStore((store) => testWebhook(store, id))
    await until(
      () => receiver.received.length,
      (received) => received === count,
    )
  }
}

// This test comes first, because requests of a removed webhook that are still in flight are counted.
it('stores no events without a webhook, and counts those sent with one in /metrics', async () => {
  const receiver = await receiverThat()
  const written = async () => (await inStore(({ db }) => db.selectFrom('webhook_events').select('id').execute())).length
  const sent = async () => {
    const text = await (await backend.get('/metrics')).text()
    return { text, count: Number(/^gdn_webhook_attempts_total\{outcome="delivered"\} (\d+)$/m.exec(text)?.[1] ?? 0) }
  }
  const before = { written: await written(), sent: (await sent()).count }
  await mintSome(5)
  expect(await written()).toBe(before.written)
  await makeWebhook(backend.dataDir, receiver.url)
  await mintSome(5)
  // The counter and the number from the database are updated a moment apart.
  const { text, count } = await until(
    sent,
    ({ text, count }) => count === before.sent + 5 && text.includes('gdn_webhook_deliveries_waiting 0'),
  )
  expect(count).toBe(before.sent + 5)
  expect(text).toContain('gdn_webhook_deliveries_waiting 0')
  expect(await written()).toBe(before.written + 5)
  expect(text).toContain('gdn_webhooks{status="active"} 1')
})

describe('an event that was not delivered', () => {
  it('is retried with the same content and ID and a new signature until it is delivered', async () => {
    const receiver = await receiverThat(
      (response, _, index) => void response.writeHead(index < 3 ? 500 : 200).end('hm'),
    )
    const { id } = await makeWebhook(backend.dataDir, receiver.url, ['collection.deployed'])
    await createTestCollection(backend)
    const [delivery] = await until(
      () => deliveriesOf(backend.dataDir, id),
      ([one]) => one?.state === 'delivered',
    )
    expect(delivery).toMatchObject({ attempts: 4, response_status: 200, response: 'hm', error: null })
    expect(new Set(receiver.received.map(({ body }) => body)).size).toBe(1)
    expect(receiver.received).toHaveLength(4)
    expect(await shownWebhook(backend.dataDir, id)).toMatchObject({
      status: 'active',
      failing_since: null,
      delivered: 1,
    })
  })

  it('fails with the reason after the time limit, and can be replayed', async () => {
    let broken = true
    const receiver = await receiverThat((response) => void response.writeHead(broken ? 503 : 200).end('closed'))
    timings.giveUpAfterMs = 400
    const { id } = await makeWebhook(backend.dataDir, receiver.url, ['collection.deployed'])
    await createTestCollection(backend)
    const [failed] = await until(
      () => deliveriesOf(backend.dataDir, id),
      ([one]) => one?.state === 'failed',
    )
    expect(failed).toMatchObject({ response_status: 503, response: 'closed', next_attempt_at: null })
    const tried = receiver.received.length
    expect(tried).toBeGreaterThan(1)
    await afterNextLook()
    expect(receiver.received).toHaveLength(tried)
    broken = false
    expect(await inStore((store) => replayDeliveries(store, id, {}, Date.now()))).toMatchObject({ replayed: 1 })
    const [delivered] = await until(
      () => deliveriesOf(backend.dataDir, id),
      ([one]) => one?.state === 'delivered',
    )
    expect(delivered).toMatchObject({ event_id: failed?.event_id, attempts: 1 })
  })

  it('does not block others', async () => {
    const receiver = await receiverThat((response, { event }) => {
      response.writeHead(event.data.request_metadata?.title === 'NFT 1' ? 500 : 200).end()
    })
    const { id } = await makeWebhook(backend.dataDir, receiver.url, ['nft.deployed'])
    await mintSome(20)
    const deliveries = await until(
      () => deliveriesOf(backend.dataDir, id),
      (all) => all.filter(({ state }) => state === 'delivered').length === 19,
    )
    expect(deliveries.map(({ state }) => state).sort()).toEqual([...Array(19).fill('delivered'), 'waiting'])
  })
})

describe('a receiver', () => {
  it('a receiver that returns 410 is disabled, and enabled again by a replay', async () => {
    let gone = true
    const receiver = await receiverThat((response) => void response.writeHead(gone ? 410 : 200).end())
    const { id } = await makeWebhook(backend.dataDir, receiver.url)
    await mintSome(10)
    await until(
      () => shownWebhook(backend.dataDir, id),
      ({ status, waiting }) => status === 'disabled' && waiting === 0,
    )
    await atRest(1)
    const requestCount = receiver.received.length
    await createTestCollection(backend)
    await afterNextLook()
    expect(receiver.received).toHaveLength(requestCount)
    await expect(inStore((store) => testWebhook(store, id))).rejects.toThrow(/disabled/)
    gone = false
    const { replayed } = await inStore((store) => replayDeliveries(store, id, {}, Date.now()))
    expect(replayed).toBe(10)
    const shown = await until(
      () => shownWebhook(backend.dataDir, id),
      ({ delivered }) => delivered === 10,
    )
    expect(shown).toMatchObject({ status: 'active', delivered: 10, failed: 0 })
  })

  it('receives at most four requests at a time', async () => {
    const open: ServerResponse[] = []
    const receiver = await receiverThat((response) => void open.push(response))
    await makeWebhook(backend.dataDir, receiver.url, ['nft.deployed'])
    await mintSome(60)
    for (let answered = 0; answered < 60; answered += 4) {
      await until(
        () => open.length,
        (count) => count >= 4,
      )
      for (const response of open.splice(0)) response.end()
    }
    expect(receiver.received).toHaveLength(60)
    expect(receiver.most).toBe(4)
  })

  it('a receiver that is down is probed with single events, and receives every event later', async () => {
    let down = true
    const receiver = await receiverThat((response) => void response.writeHead(down ? 500 : 200).end())
    let probed = 0
    timings.pauseMs = (failures) => {
      if (failures === 10) probed = receiver.received.length
      return failures < 5 ? 0 : 50
    }
    const { id } = await makeWebhook(backend.dataDir, receiver.url, ['nft.deployed'])
    await mintSome(200)
    // The first four requests, four more that were in flight at the fifth failure, and probes.
    await until(
      () => probed,
      (count) => count > 0,
    )
    expect(probed).toBeLessThan(15)
    expect((await shownWebhook(backend.dataDir, id)).failing_since).not.toBeNull()
    down = false
    await until(
      () => shownWebhook(backend.dataDir, id),
      ({ delivered }) => delivered === 200,
    )
    expect(receiver.events()).toHaveLength(200)
    expect(await shownWebhook(backend.dataDir, id)).toMatchObject({ delivered: 200, waiting: 0, failing_since: null })
  })

  it('a receiver that returns Retry-After receives no request until then', async () => {
    const at: number[] = []
    const receiver = await receiverThat((response, _, index) => {
      at.push(Date.now())
      response.writeHead(index === 0 ? 429 : 200, { 'retry-after': '1' }).end()
    })
    const { id } = await makeWebhook(backend.dataDir, receiver.url, ['collection.deployed'])
    await createTestCollection(backend)
    await until(
      () => shownWebhook(backend.dataDir, id),
      ({ delivered }) => delivered === 1,
    )
    expect((at[1] ?? 0) - (at[0] ?? 0)).toBeGreaterThanOrEqual(1000)
  })

  it('a receiver that never responds does not block another one or the shutdown of the backend', async () => {
    const silent = await receiverThat(() => {})
    const quick = await receiverThat()
    await makeWebhook(backend.dataDir, silent.url)
    await makeWebhook(backend.dataDir, quick.url)
    await mintSome(10)
    await until(
      async () => quick.events(),
      (events) => events.length === 10,
    )
    expect(quick.events()).toHaveLength(10)
    await until(
      () => silent.received.length,
      (count) => count === 4,
    )
    await backend.close()
    backend = await backendForFile({ dataDir: backend.dataDir, webhooks: { timings } })
  })
})

it('sends a triggered event once, also if it fails', async () => {
  const receiver = await receiverThat((response) => void response.writeHead(500).end())
  const { id } = await makeWebhook(backend.dataDir, receiver.url, ['nft.deployed'])
  const eventId = await inStore((store) => testWebhook(store, id, 'nft.failed'))
  const [delivery] = await until(
    () => deliveriesOf(backend.dataDir, id),
    ([first]) => first !== undefined && first.attempts > 0,
  )
  expect(delivery).toMatchObject({ event_id: eventId, type: 'nft.failed', state: 'failed', attempts: 1 })
})

it('sends a test event once, before all pending events and for any event filter', async () => {
  let down = true
  const receiver = await receiverThat((response) => void response.writeHead(down ? 500 : 200).end())
  Object.assign(timings, { retryMs: () => 60_000, pauseMs: (failures: number) => (failures < 5 ? 0 : 60_000) })
  const { id } = await makeWebhook(backend.dataDir, receiver.url, ['nft.deployed'])
  await mintSome(30)
  await atRest(5)
  const tests = () => receiver.received.filter(({ event }) => event.type === 'webhook.test')
  const first = await inStore((store) => testWebhook(store, id))
  await until(
    async () => tests(),
    (all) => all.length > 0,
  )
  const find = async (eventId: string) =>
    (await deliveriesOf(backend.dataDir, id)).find((one) => one.event_id === eventId)
  expect(
    await until(
      () => find(first),
      (one) => one?.state === 'failed',
    ),
  ).toMatchObject({ state: 'failed', attempts: 1 })
  down = false
  const second = await inStore((store) => testWebhook(store, id))
  expect(
    await until(
      () => find(second),
      (one) => one?.state === 'delivered',
    ),
  ).toMatchObject({ attempts: 1 })
  expect(tests().map(({ event }) => event.id)).toEqual([first, second])
  expect(tests()[0]?.event.data).toEqual({ webhook_id: id, message: 'This is a test.' })
})

it('writes neither the secret nor the URL to the log or the metrics', async () => {
  const receiver = await receiverThat((response) => void response.writeHead(500).end())
  const { secret } = await makeWebhook(backend.dataDir, `${receiver.url}?token=sesame-open`)
  await createTestCollection(backend)
  await until(
    async () => receiver.received.length,
    (count) => count >= 2,
  )
  const output = backend.log.join('') + (await (await backend.get('/metrics')).text())
  expect(output).toContain('an event delivery will be retried')
  expect(output).not.toContain(secret)
  expect(output).not.toContain('sesame-open')
})
