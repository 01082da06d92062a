import { writeSync } from 'node:fs'
import { EXIT } from '../../core/exit-codes.ts'

/** Error codes of a write to a closed pipe or (EIO) a closed terminal. */
const GONE = new Set(['EPIPE', 'EIO', 'ERR_STREAM_DESTROYED'])
const FULL = new Set(['ENOSPC', 'EDQUOT'])

export interface WatchedStreams {
  /** Returns the exit code of a command, given the code for successful writes. */
  exitCode(code: number): number
}

/**
 * Handles write errors of stdout and stderr. A pipe that is closed early, as by `gdn nft list | head`, is not an error.
 * Any other error, such as a full disk, is reported once, and the command continues, so that its effect is the same.
 */
export function watchStreams(argv: readonly string[]): WatchedStreams {
  let hasFailed = false
  const watch = (name: string, stream: NodeJS.WriteStream) =>
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (hasFailed || GONE.has(error.code ?? '')) return
      hasFailed = true
      const reason = FULL.has(error.code ?? '') ? 'no space left on the disk' : error.message
      const message = `can't write to ${name}: ${reason}`
      const inJson = JSON.stringify({ error: { code: 'unexpected', message, hint: null, details: null } })
      writeAtOnce(`${argv.includes('--json') ? inJson : `error: ${message}`}\n`)
    })
  watch('stdout', process.stdout)
  watch('stderr', process.stderr)
  // Never the code for "nothing was sent", because the command has completed.
  return { exitCode: (code) => (hasFailed ? EXIT.unexpected : code) }
}

/** Prints to stdout before anything else is loaded. Returns the exit code. */
export async function print(text: string, argv: readonly string[]): Promise<number> {
  const streams = watchStreams(argv)
  await new Promise<void>((resolve) => {
    // After a failed write, 'error' comes later than this callback, and 'close' last.
    process.stdout.write(text, (error) => (error ? process.stdout.once('close', resolve) : resolve()))
  })
  return streams.exitCode(EXIT.ok)
}

export function writeAtOnce(text: string): void {
  try {
    writeSync(2, text)
  } catch {
    // stderr is closed.
  }
}
