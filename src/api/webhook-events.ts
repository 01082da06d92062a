/** The events of webhooks. `webhook.test` is sent on request only. */
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

/** Header fields of a delivery, spelled as in its documentation. */
export const EVENT_ID_HEADER = 'Gdn-Event-Id'
export const SIGNATURE_HEADER = 'Gdn-Signature'

/** Maximum difference between the time of a signature and the receiver's clock, in seconds, in both directions. */
export const SIGNATURE_TOLERANCE_SECONDS = 300

/** Prefixes of the IDs of events. */
export const EVENT = 'evt_'
export const TEST_EVENT = 'evt_test_'

/** Returns whether an event was sent on request. Only that makes it a test: it may have the type of a real one. */
export const isTestEvent = (id: string): boolean => id.startsWith(TEST_EVENT)
