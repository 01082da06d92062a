import { within } from '../core/within.ts'

/** Whoever is told that a start failed is told soon, though what was opened can't be closed. */
const CLOSE_WITHIN_MS = 3000

/** Closes what a start had opened that failed. Why it did counts, and not what else was lost with it. */
export async function closeFailed(undo: (() => unknown)[]): Promise<void> {
  await within(closeAll(undo), CLOSE_WITHIN_MS).catch(() => {})
}

/**
 * Closes what was opened, the last first, and once. One that can't be closed keeps no other open.
 *
 * @param undo emptied by this
 * @throws what the first of them said that couldn't be closed
 */
export async function closeAll(undo: (() => unknown)[]): Promise<void> {
  const errors: unknown[] = []
  for (const step of undo.splice(0).reverse()) {
    try {
      await step()
    } catch (error) {
      errors.push(error)
    }
  }
  if (errors.length > 0) throw errors[0]
}
