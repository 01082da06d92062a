import { GdnError } from '../../../core/errors.ts'

/** Returns a signal that aborts after a time, with an error that says what is missing until then. */
export function timeUp(ms: number, missing: string): { signal: AbortSignal; clear(): void } {
  const controller = new AbortController()
  const reason = new GdnError('pending', missing, { hint: 'Run the same command again to resume.' })
  const timer = setTimeout(() => controller.abort(reason), ms)
  return { signal: controller.signal, clear: () => clearTimeout(timer) }
}
