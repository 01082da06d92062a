import type { Blockchain } from '../../api/blockchains.ts'
import type { Sql } from '../../sqlite/shared-database.ts'
import { collectionsOf } from '../../state/collections.ts'
import { unresolvedBodies } from '../../state/row-requests.ts'
import { contentOf, sentMetadata } from './content.ts'

/** Returns contents of batch rows whose outcome is unknown. An NFT with the same content may be one of them. */
export function unresolvedContents(
  sql: Sql,
  collection: { origin: string; backendId: string | null; blockchain: Blockchain; contract: string },
): Set<string> {
  const bodies = unresolvedBodies(sql, collectionsOf(sql, collection), '')
  return new Set(
    bodies.flatMap(({ body, position }) =>
      // Single commands with the same content are counted elsewhere.
      position === null
        ? []
        : sentMetadata(body)
            .slice(position, position + 1)
            .map(contentOf),
    ),
  )
}
