import { GdnError } from '../../core/errors.ts'
import type { Deps } from '../deps.ts'

/** Returns the result of an optional read; null if the server or the chain can't be read. */
export async function ifReadable<Value>(
  { signals }: Pick<Deps, 'signals'>,
  reading: Promise<Value>,
): Promise<Value | null> {
  try {
    return await reading
  } catch (error) {
    if (error instanceof GdnError && !signals.signal.aborted) return null
    throw error
  }
}
