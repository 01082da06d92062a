import { basename } from 'node:path'
import { chunksOf } from '../../core/chunks-of.ts'
import { GdnError, messageOf } from '../../core/errors.ts'
import { sha256OfFile } from '../../core/sha256-of-file.ts'
import { IN_FLIGHT } from '../../operations/defaults.ts'
import { readUploads, storeUpload } from '../../state/drops.ts'
import type { RowLocation } from '../../state/rows.ts'
import type { RequestPlan } from '../request-plan.ts'
import type { RunContext } from '../runs/run-context.ts'
import type { FileUrlOf } from './request.ts'

const ROWS_PER_READ = 1_000
/** Number of unrecorded uploads at which all of them are recorded immediately. */
const MAX_UNRECORDED = 100
/** Minimum time in milliseconds between two recordings, unless `MAX_UNRECORDED` is reached. */
const RECORD_EVERY_MS = 200

/**
 * Uploads the local files of the rows before any row is sent, so that nothing has been minted if the server rejects a
 * file. Several files are uploaded at a time, and files with the same content only once. After a failure, no further
 * upload begins, but uploads in flight finish so that their URLs are stored.
 *
 * @returns a function from path to URL, or null if the run was stopped
 */
export async function uploadFiles(
  context: Pick<RunContext, 'run' | 'client' | 'halt' | 'options' | 'emit' | 'stop'>,
  plan: Pick<RequestPlan, 'withFiles'>,
  rows: RowLocation,
): Promise<FileUrlOf | null> {
  const { halt, options } = context
  const urls = new Map<string, string>()
  const lines = new Map<string, number>()
  const { run } = context
  for (const page of chunksOf(plan.withFiles, ROWS_PER_READ)) {
    for (const { row } of await run.rowsAt(rows, page)) {
      for (const { path } of row.localFiles) if (!lines.has(path)) lines.set(path, row.line)
    }
  }
  const uploaded = await run.read((sql) => readUploads(sql, run.id))
  const uploads = new Map([...uploaded].map(([hash, url]): [string, Promise<string>] => [hash, Promise.resolve(url)]))
  const recorder = new UploadRecorder(run)
  const failures: { line: number; path: string; error: unknown }[] = []
  const waiting = lines.entries()
  const work = async () => {
    for (const [path, line] of waiting) {
      if (halt.aborted || failures.length > 0) return
      try {
        urls.set(path, await uploadOnce(context, { uploads, recorder }, path))
        context.emit({ type: 'uploaded', path, url: urls.get(path) ?? '', done: urls.size, files: lines.size })
      } catch (error) {
        failures.push({ line, path, error })
      }
    }
  }
  await Promise.all(Array.from({ length: options.uploadConcurrency ?? IN_FLIGHT }, work))
  await recorder.flush()
  if (halt.aborted) return null
  const [first] = failures.sort((a, b) => a.line - b.line)
  if (first !== undefined) {
    const { error, path, line } = first
    if (error instanceof GdnError && error.code === 'data_dir') throw error
    context.stop(uploadError(error, path, line))
    return null
  }
  return (path) => {
    const url = urls.get(path)
    if (url === undefined) throw new Error(`${path} was not uploaded`)
    return url
  }
}

/**
 * Records uploads, several in one transaction, because each transaction waits for the disk. If the process is killed
 * before uploads are recorded, their files are uploaded again.
 */
class UploadRecorder {
  readonly #run: RunContext['run']
  #waiting: { hash: string; url: string }[] = []
  #recordedAt = performance.now()

  constructor(run: RunContext['run']) {
    this.#run = run
  }

  async add(hash: string, url: string): Promise<void> {
    this.#waiting.push({ hash, url })
    const isDue = performance.now() - this.#recordedAt >= RECORD_EVERY_MS
    if (isDue || this.#waiting.length >= MAX_UNRECORDED) await this.flush()
  }

  async flush(): Promise<void> {
    const uploads = this.#waiting
    this.#waiting = []
    this.#recordedAt = performance.now()
    if (uploads.length === 0) return
    await this.#run.write((sql) => {
      for (const { hash, url } of uploads) storeUpload(sql, this.#run.id, hash, url)
    })
  }
}

/**
 * Returns the URL of a file. Uploads the file unless the same content has already been uploaded or is being uploaded.
 */
async function uploadOnce(
  { client, halt }: Pick<RunContext, 'client' | 'halt'>,
  { uploads, recorder }: { uploads: Map<string, Promise<string>>; recorder: UploadRecorder },
  path: string,
): Promise<string> {
  const hash = await sha256OfFile(path)
  const pending =
    uploads.get(hash) ??
    client.upload(path, basename(path), { signal: halt, sha256: hash }).then(async ({ url }) => {
      await recorder.add(hash, url)
      return url
    })
  uploads.set(hash, pending)
  return await pending
}

function uploadError(error: unknown, path: string, line: number): GdnError {
  const message = `can't upload the file ${path} (line ${line}): ${messageOf(error)}`
  if (!(error instanceof GdnError)) return new GdnError('invalid_manifest', message, { cause: error })
  return error.with({ message })
}
