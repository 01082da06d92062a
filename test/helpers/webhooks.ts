import { addWebhook, getDeliveries, type ShownDelivery, showWebhook } from '../../src/server/admin/webhooks.ts'
import { administrate } from '../../src/server/administration.ts'
import { placeOf } from './test-database.ts'

/** Creates a webhook for the local account of a data dir, beside its backend. */
export async function makeWebhook(
  dataDir: string,
  url: string,
  events = ['*'],
): Promise<{ id: string; secret: string }> {
  const { webhook, secret } = await administrate(await placeOf(dataDir), (store) =>
    addWebhook(store, { url, events, now: Date.now() }),
  )
  return { id: webhook.id, secret: secret.reveal() }
}

export const shownWebhook = async (dataDir: string, id: string) =>
  administrate(await placeOf(dataDir), (store) => showWebhook(store, id, Date.now()))

export const deliveriesOf = async (dataDir: string, id: string): Promise<ShownDelivery[]> =>
  administrate(await placeOf(dataDir), (store) => getDeliveries(store, id, { limit: 100_000 }))
