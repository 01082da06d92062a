import { writeSync } from 'node:fs'
import { EXIT } from '../../core/exit-codes.ts'

/** Error codes of writes to a closed pipe or a closed terminal (EIO). */
const CLOSED_CODES = new Set(['EPIPE', 'EIO', 'ERR_STREAM_DESTROYED'])
const DISK_FULL_CODES = new Set(['ENOSPC', 'EDQUOT'])

export interface WatchedStreams {
  /** Returns the exit code of the process. This is `code`, the command's exit code, if all writes succeeded. */
  exitCode(code: number): number
}

/**
 * Handles write errors of stdout and stderr. A reader may close the pipe early, as in `gdn nft list | head`, which
 * isn't an error. Any other error, such as a full disk, is reported once, and the command continues to run.
 */
export function watchStreams(argv: readonly string[]): WatchedStreams {
  let hasFailed = false
  const watch = (name: string, stream: NodeJS.WriteStream) =>
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (hasFailed || CLOSED_CODES.has(error.code ?? '')) return
      hasFailed = true
      const reason = DISK_FULL_CODES.has(error.code ?? '') ? 'no space left on the disk' : error.message
      const message = `can't write to ${name}: ${reason}`
      const inJson = JSON.stringify({ error: { code: 'unexpected', message, hint: null, details: null } })
      writeToStderrSync(`${argv.includes('--json') ? inJson : `error: ${message}`}\n`)
    })
  watch('stdout', process.stdout)
  watch('stderr', process.stderr)
  // Don't return the exit code for "nothing was sent", because the command may have sent requests.
  return { exitCode: (code) => (hasFailed ? EXIT.unexpected : code) }
}

/** Prints text to stdout without loading the rest of gdn. Returns the exit code. */
export async function print(text: string, argv: readonly string[]): Promise<number> {
  const streams = watchStreams(argv)
  await new Promise<void>((resolve) => {
    // After a failed write, the stream calls this callback, then emits 'error', and finally 'close'.
    process.stdout.write(text, (error) => (error ? process.stdout.once('close', resolve) : resolve()))
  })
  return streams.exitCode(EXIT.ok)
}

export function writeToStderrSync(text: string): void {
  try {
    writeSync(2, text)
  } catch {
    // stderr is closed, so the error can't be reported.
  }
}
