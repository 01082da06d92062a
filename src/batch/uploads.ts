import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { basename } from 'node:path'
import { GdnError, messageOf } from '../core/errors.ts'
import type { Plan } from './plan.ts'
import type { FileUrls } from './request.ts'
import type { RunContext } from './run-context.ts'
import type { SpoolReader } from './spool.ts'

async function sha256(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path)) hash.update(chunk)
  return hash.digest('hex')
}

/**
 * Brings the local files of the rows to be sent into the server's storage, each content once, before any row is sent:
 * a file that the server refuses shows while nothing is minted yet.
 *
 * @returns where each path went; null when the run was stopped
 */
export async function uploadFiles(context: RunContext, plan: Plan, spool: SpoolReader): Promise<FileUrls | null> {
  const urls = new Map<string, string>()
  const { ledger, client, halt } = context
  const paths = new Map<string, number>()
  for (const { span } of plan.withFiles) {
    const { row } = await spool.read(span)
    for (const { path } of row.localFiles) if (!paths.has(path)) paths.set(path, row.line)
  }
  for (const [path, line] of paths) {
    if (halt.aborted) return null
    try {
      const hash = await sha256(path)
      const known = ledger.uploads.get(hash)
      const { url } = known === undefined ? await client.upload(path, basename(path), { signal: halt }) : { url: known }
      if (known === undefined) await context.record({ t: 'upload', sha256: hash, url }, false)
      urls.set(path, url)
      context.emit({ type: 'uploaded', path, url, done: urls.size, files: paths.size })
    } catch (error) {
      if (halt.aborted) return null
      if (error instanceof GdnError && error.code === 'data_dir') throw error
      context.stop(uploadError(error, path, line))
      return null
    }
  }
  return (path) => {
    const url = urls.get(path)
    if (url === undefined) throw new Error(`${path} was not uploaded`)
    return url
  }
}

function uploadError(error: unknown, path: string, line: number): GdnError {
  const message = `the file ${path} (line ${line}) can't be uploaded: ${messageOf(error)}`
  if (!(error instanceof GdnError)) return new GdnError('invalid_manifest', message, { cause: error })
  return new GdnError(error.code, message, { ...(error.hint === undefined ? {} : { hint: error.hint }), cause: error })
}
