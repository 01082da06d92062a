import { GdnError, messageOf, systemCode } from '../core/errors.ts'
import { openToAppend } from '../core/private-file.ts'

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

/** Resolves when a signal came. */
export async function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  await new Promise<void>((done) => signal.addEventListener('abort', () => done(), { once: true }))
}

/** Waits for work, but not for longer. */
export async function within(ms: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((done) => {
    timer = setTimeout(done, ms)
  })
  await Promise.race([work, late]).finally(() => clearTimeout(timer))
}
