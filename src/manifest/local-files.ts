import { access, constants, stat } from 'node:fs/promises'
import { MAX_FILE_BYTES } from '../api/endpoints/files.ts'
import { messageOf, systemCode } from '../core/errors.ts'

const MAX_REMEMBERED = 10_000

/** What is wrong with the file at a path, or null. */
export type FileCheck = (path: string) => Promise<string | null>

/** Looks at local files, each once as long as there are not too many. */
export function createFileCheck(): FileCheck {
  const seen = new Map<string, string | null>()
  return async (path) => {
    const known = seen.get(path)
    if (known !== undefined) return known
    const problem = await fileProblem(path)
    if (seen.size >= MAX_REMEMBERED) seen.clear()
    seen.set(path, problem)
    return problem
  }
}

async function fileProblem(path: string): Promise<string | null> {
  if (path.includes('\0')) return 'holds a NUL character'
  try {
    const found = await stat(path)
    if (found.isDirectory()) return `is a directory: ${path}`
    if (!found.isFile()) return `is no regular file: ${path}`
    if (found.size === 0) return `is empty: ${path}`
    if (found.size > MAX_FILE_BYTES) return `has ${found.size} bytes, more than ${MAX_FILE_BYTES}: ${path}`
    await access(path, constants.R_OK)
    return null
  } catch (error) {
    return systemCode(error) === 'ENOENT' ? `doesn't exist: ${path}` : `can't be read: ${messageOf(error)}`
  }
}
