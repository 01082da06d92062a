import { basename } from 'node:path'
import { GdnError, messageOf } from '../../core/errors.ts'
import { sha256Of } from '../../core/sha256-of.ts'
import { IN_FLIGHT } from '../../operations/defaults.ts'
import { enterUpload, uploadsOf } from '../../state/drops.ts'
import type { RowsIn } from '../../state/rows.ts'
import type { RequestPlan } from '../request-plan.ts'
import type { RunContext } from '../runs/run-context.ts'
import type { FileUrlOf } from './request.ts'

/**
 * Uploads the local files of the rows to be sent, before any row is sent. So if the server rejects a file, nothing is
 * minted yet. Several files are uploaded at a time, and equal files only once. After a failure, no further upload
 * begins, but uploads in flight finish so that their URLs are stored.
 *
 * @returns a function from path to URL, or null if the run was stopped
 */
export async function uploadFiles(
  context: Pick<RunContext, 'store' | 'client' | 'halt' | 'options' | 'emit' | 'stop'>,
  plan: Pick<RequestPlan, 'withFiles'>,
  rows: RowsIn,
): Promise<FileUrlOf | null> {
  const { halt, options } = context
  const urls = new Map<string, string>()
  const lines = new Map<string, number>()
  const { store } = context
  for (const position of plan.withFiles) {
    const [kept] = await store.rowsAt(rows, [position])
    const row = kept?.row
    if (row === undefined) continue
    for (const { path } of row.localFiles) if (!lines.has(path)) lines.set(path, row.line)
  }
  const uploaded = await store.read((sql) => uploadsOf(sql, store.id))
  const uploads = new Map([...uploaded].map(([hash, url]): [string, Promise<string>] => [hash, Promise.resolve(url)]))
  const failures: { line: number; path: string; error: unknown }[] = []
  const waiting = lines.entries()
  const work = async () => {
    for (const [path, line] of waiting) {
      if (halt.aborted || failures.length > 0) return
      try {
        urls.set(path, await uploadOnce(context, uploads, path))
        context.emit({ type: 'uploaded', path, url: urls.get(path) ?? '', done: urls.size, files: lines.size })
      } catch (error) {
        failures.push({ line, path, error })
      }
    }
  }
  await Promise.all(Array.from({ length: options.uploadConcurrency ?? IN_FLIGHT }, work))
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

/** Returns the URL of a file. Uploads the file unless the same content is uploaded or in flight already. */
async function uploadOnce(
  { store, client, halt }: Pick<RunContext, 'store' | 'client' | 'halt'>,
  uploads: Map<string, Promise<string>>,
  path: string,
): Promise<string> {
  const hash = await sha256Of(path)
  const pending =
    uploads.get(hash) ??
    client.upload(path, basename(path), { signal: halt, sha256: hash }).then(async ({ url }) => {
      await store.write((sql) => enterUpload(sql, store.id, hash, url))
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
