import { addWebhook, listDeliveries, type ShownDelivery, showWebhook } from '../../src/server/admin/webhooks.ts'
import { withDatabase } from '../../src/server/open-database.ts'
import { placeOf } from './test-database.ts'

/** Creates a webhook for the local account of a data dir, beside its backend. */
export async function makeWebhook(
  dataDir: string,
  url: string,
  events = ['*'],
): Promise<{ id: string; secret: string }> {
  const { webhook, secret } = await withDatabase(await placeOf(dataDir), (store) =>
    addWebhook(store, { url, events, now: Date.now() }),
  )
  return { id: webhook.id, secret: secret.reveal() }
}

export const shownWebhook = async (dataDir: string, id: string) =>
  withDatabase(await placeOf(dataDir), (store) => showWebhook(store, id, Date.now()))

export const deliveriesOf = async (dataDir: string, id: string): Promise<ShownDelivery[]> =>
  withDatabase(await placeOf(dataDir), (store) => listDeliveries(store, id, { limit: 100_000 }))
