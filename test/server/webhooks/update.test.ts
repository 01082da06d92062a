/** @module-tag slow */
import { beforeEach, expect, it, vi } from 'vitest'
import { updateWebhook } from '../../../src/server/admin/webhooks.ts'
import type { PostOutcome } from '../../../src/server/pipeline/webhooks/post.ts'
import { createWebhookStep } from '../../../src/server/pipeline/webhooks/webhook-step.ts'
import type { Store } from '../../../src/server/store/open-store.ts'
import { enqueueTestEvent } from '../../../src/server/store/outbox.ts'
import { insertWebhook } from '../../../src/server/store/webhooks.ts'
import { temporaryStore } from '../../helpers/backend.ts'
import { SILENT_LOG } from '../../helpers/silent-log.ts'

const OLD = 'https://example.com/old'
const NEW = 'https://example.com/new'
const DELIVERED: PostOutcome = { status: 200, responseText: '', error: null, retryAfterMs: null }
const GONE: PostOutcome = { status: 410, responseText: '', error: 'the receiver returned HTTP 410', retryAfterMs: null }

let store: Store

beforeEach(async () => {
  store = await temporaryStore()
  await store.db.insertInto('accounts').values({ id: 'a', email: 'a@example.com', created_at: 1 }).execute()
  await insertWebhook(store.db, {
    ...{ id: 'w', account_id: 'a', kind: 'url', url: OLD, events: '["*"]', secret: 's', status: 'active' },
    ...{ created_at: 1, expires_at: null, failing_since: null },
  })
})

function gate() {
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { open: () => open(), opened }
}

/** Delivers events. Posts to the old URL wait until the webhook has the new one, and have an outcome then. */
async function deliverDuringUpdate(events: number, ofOld: PostOutcome): Promise<Record<string, number>> {
  await store.transaction(async (db) => {
    for (let i = 0; i < events; i++) await enqueueTestEvent(db, 'w', 'nft.deployed', { nft_gdn_id: String(i) })
  })
  const delivered: Record<string, number> = { [OLD]: 0, [NEW]: 0 }
  const hold = gate()
  const changed = gate()
  const step = createWebhookStep({
    store,
    poster: {
      async post({ url }) {
        hold.open()
        await changed.opened
        const outcome = url === OLD ? ofOld : DELIVERED
        if (outcome.error === null) delivered[url] = (delivered[url] ?? 0) + 1
        return outcome
      },
      close: async () => {},
    },
    ...{ now: Date.now, log: SILENT_LOG, onAttempt() {} },
  })
  try {
    await step.turn()
    await hold.opened
    await updateWebhook(store, 'w', { url: NEW, events: undefined }, Date.now())
    changed.open()
    await vi.waitFor(
      async () => {
        await step.turn()
        const rows = await store.db.selectFrom('webhook_deliveries').select('state').execute()
        expect(rows.filter(({ state }) => state === 'waiting')).toEqual([])
      },
      { timeout: 10_000 },
    )
    const failed = store.db.selectFrom('webhook_deliveries').select('event_id').where('state', '=', 'failed')
    expect(await failed.execute()).toEqual([])
    return delivered
  } finally {
    await step.stop()
  }
}

it('sends no event to the old URL after those that were in flight', async () => {
  const delivered = await deliverDuringUpdate(200, DELIVERED)
  expect(delivered[OLD]).toBeLessThanOrEqual(64)
  expect(delivered[NEW]).toBeGreaterThanOrEqual(136)
})

it('sends an event to the new URL at once although the old one rejects it later', async () => {
  expect(await deliverDuringUpdate(1, GONE)).toEqual({ [OLD]: 0, [NEW]: 1 })
})
