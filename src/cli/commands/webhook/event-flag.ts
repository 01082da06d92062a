import { EVENT_TYPES } from '../../../api/webhook-events.ts'
import { GdnError } from '../../../core/errors.ts'
import { nearest } from '../../../core/nearest.ts'
import type { Parse } from '../../command.ts'
import { wordList } from '../../flags/parse.ts'

/** `nft.deployed,nft.failed`, or `*` for all. */
export const eventTypes: Parse<string[]> = Object.assign(
  (raw: string, flag: string) => wordList(raw, flag).map((word) => eventType(word, flag)),
  { takes: { type: 'words' as const, values: [...EVENT_TYPES, '*'] } },
)

function eventType(word: string, flag: string): string {
  const known = [...EVENT_TYPES, '*'].find((type) => type === word)
  if (known !== undefined) return known
  const near = nearest(word, EVENT_TYPES)
  throw new GdnError('usage', `unknown event ${JSON.stringify(word.slice(0, 60))}`, {
    place: { flag },
    hint: near === undefined ? `events are ${EVENT_TYPES.join(', ')}, and *` : `did you mean ${near}?`,
  })
}
