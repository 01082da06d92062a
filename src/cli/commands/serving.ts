import { GdnError, messageOf, systemCode } from '../../core/errors.ts'
import { orAborted } from '../../core/or-aborted.ts'
import { openToAppend } from '../../core/private-file.ts'
import type { Signals } from '../io/signals.ts'

/** A log that can't be written must not end the backend: what can't be kept is dropped. */
export async function appendTo(path: string): Promise<{ write(line: string): void }> {
  const { createWriteStream } = await import('node:fs')
  const stream = createWriteStream(path, { fd: openLog(path) })
  stream.on('error', () => {})
  return { write: (line) => void stream.write(line) }
}

function openLog(path: string): number {
  try {
    return openToAppend(path)
  } catch (cause) {
    const isLink = systemCode(cause) === 'ELOOP'
    throw new GdnError('usage', isLink ? `${path} is a symbolic link` : `can't be written: ${messageOf(cause)}`, {
      place: { flag: '--log-file' },
      hint: 'name a file of your own, in a folder that is there',
      cause,
    })
  }
}

/** What a start, or an answer, still has when it is told to stop: more than where nothing is in its way. */
const END_WITHIN_MS = 2000

/**
 * What work comes to that owns its signals, such as a start; null where it was to stop meanwhile. Whatever it waits for
 * then (a database that doesn't answer) is left: it leaves nothing that a kill at this moment wouldn't leave as well.
 */
export async function unlessStopped<Result>(
  { signal, again }: Pick<Signals, 'signal' | 'again'>,
  work: Promise<Result>,
): Promise<Result | null> {
  const patience = new AbortController()
  const lose = () => patience.abort()
  let timer: NodeJS.Timeout | undefined
  const onSignal = () => {
    timer = setTimeout(lose, END_WITHIN_MS)
  }
  if (signal.aborted) onSignal()
  else signal.addEventListener('abort', onSignal, { once: true })
  again.addEventListener('abort', lose, { once: true })
  try {
    return await orAborted(work, patience.signal)
  } catch (error) {
    if (signal.aborted) return null
    throw error
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', onSignal)
    again.removeEventListener('abort', lose)
  }
}

/** Resolves when a signal came. */
export async function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  await new Promise<void>((done) => signal.addEventListener('abort', () => done(), { once: true }))
}
