import { EVENT_TYPES } from '../../../api/webhook-events.ts'
import { someOf } from '../../flags/parse.ts'

/** `nft.deployed,nft.failed`, or `*` for all. */
export const eventTypes = someOf([...EVENT_TYPES, '*'])
