import { repeatedGeneration } from '../../batch/runs/runs.ts'
import { toDraw, withDrawnRows } from '../../reveal/shuffle/drawn-rows.ts'
import type { BeaconFlags } from '../connect/open-beacon.ts'
import type { Connection, Deps } from '../deps.ts'
import type { PlanSource } from '../plan/open-plan.ts'

/**
 * Returns the rows to plan. For a shuffled drop, includes the contents that were drawn for them. The plan compares an
 * unrevealed drop with its own NFTs, even if a later run with --again has minted the same rows.
 */
export async function withDraw<Source extends PlanSource>(
  deps: Deps,
  connection: Connection,
  openedSource: Source,
  flags: BeaconFlags,
): Promise<Source> {
  const generation =
    openedSource.options.manifestPath === null ? undefined : await repeatedGeneration(openedSource.options)
  const source =
    generation === undefined ? openedSource : { ...openedSource, options: { ...openedSource.options, generation } }
  // A saved plan contains no rows of a shuffled drop, and standard input can be read only once.
  if (source.isSaved === true || source.options.manifestPath === null) return source
  const { findDraw, findSealed } = await import('./find-draw.ts')
  const { options, read, contents } = source
  const readRows = () => read({ row: async () => {}, burn: async () => {} })
  const drawing = { options, read: readRows, contents, flags }
  const drawn = await findDraw(deps, connection, drawing)
  if (drawn === null) return { ...source, sealed: await findSealed(deps, connection, drawing) }
  const reading = { ...options.reading, draw: toDraw(drawn) }
  return { ...source, drawn, options: { ...options, reading }, read: (saved) => withDrawnRows(read(saved), drawn) }
}
