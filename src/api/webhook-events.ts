/** The webhook events that the backend sends by itself. `webhook.test` is only sent on request. */
export const EVENT_TYPES = [
  'nft.deployed',
  'nft.failed',
  'collection.deployed',
  'collection.failed',
  'transfer.deployed',
  'transfer.failed',
  'burn.deployed',
  'burn.failed',
  'update.deployed',
  'update.failed',
  'freeze.deployed',
  'freeze.failed',
  'provenance.deployed',
  'provenance.failed',
] as const

export type EventType = (typeof EVENT_TYPES)[number] | 'webhook.test'

/** Header names of a delivery, spelled as in the documentation. */
export const EVENT_ID_HEADER = 'Gdn-Event-Id'
export const SIGNATURE_HEADER = 'Gdn-Signature'

/** Maximum difference between a signature's timestamp and the receiver's clock, in seconds and in either direction. */
export const SIGNATURE_TOLERANCE_SECONDS = 300

/** Prefixes of event IDs. */
export const EVENT_ID_PREFIX = 'evt_'
export const TEST_EVENT_ID_PREFIX = 'evt_test_'

/**
 * Returns whether an event was sent on request. Only the ID identifies test events, because they may have the type of a
 * real event.
 */
export const isTestEvent = (id: string): boolean => id.startsWith(TEST_EVENT_ID_PREFIX)
