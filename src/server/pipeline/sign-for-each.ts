import { LostRaceError } from './driver.ts'

/**
 * Calls `signFor` for each collection. An error in one collection doesn't block the others. The first error is thrown
 * at the end.
 *
 * @param signFor resolves with whether there may be more to sign immediately
 * @returns whether any collection may have more to sign, including collections that lost a race
 */
export async function signForEach(
  collectionIds: readonly string[],
  signFor: (collectionId: string) => Promise<boolean>,
): Promise<boolean> {
  const failures: unknown[] = []
  let hasMore = false
  for (const id of collectionIds) {
    try {
      if (await signFor(id)) hasMore = true
    } catch (error) {
      if (error instanceof LostRaceError) hasMore = true
      else failures.push(error)
    }
  }
  if (failures.length > 0) throw failures[0]
  return hasMore
}
