import type { Attribute } from '../api/traits.ts'
import { GdnError, type Place } from '../core/errors.ts'
import { quoted } from '../core/quoted.ts'
import type { ApiClient } from './api-client.ts'
import { learnSupport } from './learn-support.ts'

/**
 * Refuses a typed trait unless the server publishes its type, because other servers may silently drop the type.
 *
 * @param trait undefined if there is none, in which case the server isn't queried
 * @throws GdnError `refused`, or `unreachable` if the server doesn't respond
 */
export async function refuseTypedTrait(
  client: Pick<ApiClient, 'learnIdempotency' | 'supports'>,
  trait: Attribute | undefined,
  { place, signal }: { place?: Place | undefined; signal?: AbortSignal | undefined },
): Promise<void> {
  if (trait === undefined) return
  if (client.supports('traits') === null) await learnSupport(client, signal)
  if (client.supports('traits') !== true) throw noTypedTraits(trait, place)
}

export const noTypedTraits = ({ tag, display_type }: Attribute, place?: Place): GdnError =>
  new GdnError('refused', `the server doesn't support typed traits: ${quoted(tag)} has the type ${display_type}`, {
    place,
    hint: 'Nothing was sent. Use a gdn backend that supports them, or remove the type of the trait.',
  })
