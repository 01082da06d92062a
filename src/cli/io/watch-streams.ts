import { writeSync } from 'node:fs'
import { EXIT } from '../../core/exit-codes.ts'

/** Error codes of a write to a closed pipe or a closed terminal (EIO). */
const GONE = new Set(['EPIPE', 'EIO', 'ERR_STREAM_DESTROYED'])
const FULL = new Set(['ENOSPC', 'EDQUOT'])

export interface WatchedStreams {
  /** Returns the exit code of the process. `code` is the command's exit code, which applies if all writes succeeded. */
  exitCode(code: number): number
}

/**
 * Handles write errors of stdout and stderr. It is not an error if the reader closes the pipe early, as in `gdn nft
 * list | head`. Any other error, such as a full disk, is reported once, and the command still runs to its end.
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
  // Never returns the exit code for "nothing was sent", because the command may have sent requests.
  return { exitCode: (code) => (hasFailed ? EXIT.unexpected : code) }
}

/** Prints to stdout without loading the rest of gdn. Returns the exit code. */
export async function print(text: string, argv: readonly string[]): Promise<number> {
  const streams = watchStreams(argv)
  await new Promise<void>((resolve) => {
    // After a failed write, 'error' is emitted after this callback, and 'close' comes last.
    process.stdout.write(text, (error) => (error ? process.stdout.once('close', resolve) : resolve()))
  })
  return streams.exitCode(EXIT.ok)
}

export function writeAtOnce(text: string): void {
  try {
    writeSync(2, text)
  } catch {
    // stderr is closed, so the error can't be reported.
  }
}
