import { EVENT_TYPES } from '../../../api/webhook-events.ts'
import { someOf } from '../../flags/common.ts'

/** Parses a list such as `nft.deployed,nft.failed`, or `*` for all event types. */
export const eventTypes = someOf([...EVENT_TYPES, '*'])
