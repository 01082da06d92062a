import type { Blockchain } from '../../api/blockchains.ts'
import type { Sql } from '../../sqlite/shared-database.ts'
import { listCollectionIds } from '../../state/collections.ts'
import { unresolvedBodies } from '../../state/row-requests.ts'
import { metadataHash, sentMetadata } from './content-and-owners.ts'

/**
 * Returns the contents of rows and commands with an unknown outcome. An NFT with the same content may belong to one of
 * them.
 *
 * @param runId the calling run, whose rows are omitted. Null for a single command, which omits all commands, because
 *   `copies` counts those with the same content
 */
export function unresolvedContents(
  sql: Sql,
  collection: { origin: string; backendId: string | null; blockchain: Blockchain; contract: string },
  runId: string | null = null,
): Set<string> {
  const bodies = unresolvedBodies(sql, listCollectionIds(sql, collection), runId ?? '')
  const contents = bodies.flatMap(({ body, position }) => {
    const metadata = sentMetadata(body)
    if (position !== null) return metadata.slice(position, position + 1)
    return runId === null ? [] : metadata
  })
  return new Set(contents.map(metadataHash))
}
