import { withTimeout } from '../core/with-timeout.ts'

/** Time limit for the cleanup after a failed start, so that the error is reported soon. */
const CLOSE_FAILED_WITHIN_MS = 3000

/**
 * Closes all resources that a failed start has opened. Ignores errors, because the start's own error must be reported.
 */
export async function closeFailed(undo: (() => unknown)[]): Promise<void> {
  await withTimeout(closeAll(undo), CLOSE_FAILED_WITHIN_MS).catch(() => {})
}

/**
 * Calls all cleanup functions once, in reverse order. If a function fails, the others are still called.
 *
 * @param undo the cleanup functions. The list is emptied
 * @throws the error of the first function that failed
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
