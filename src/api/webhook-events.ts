/** What a webhook can be told of. `webhook.test` is sent when somebody asks for it, and never else. */
export const EVENT_TYPES = [
  'nft.deployed',
  'nft.failed',
  'collection.deployed',
  'collection.failed',
  'transfer.deployed',
  'transfer.failed',
] as const

export type EventType = (typeof EVENT_TYPES)[number] | 'webhook.test'

/** Header fields of a delivery, in the spelling that its documentation uses. */
export const EVENT_ID_HEADER = 'Gdn-Event-Id'
export const SIGNATURE_HEADER = 'Gdn-Signature'

/** How old a signature may be where it is checked, in seconds; either way, for clocks differ. */
export const SIGNATURE_TOLERANCE_SECONDS = 300
