import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'
import { type ErrorCode, GdnError, systemCode } from '../core/errors.ts'

const READ_FAILURE_REASONS: Readonly<Record<string, string>> = {
  ENOENT: "doesn't exist",
  EACCES: "can't be read: permission denied",
  EPERM: "can't be read: permission denied",
  EISDIR: 'is a directory, not a file',
  ENOTDIR: "can't be reached: a part of its path is not a directory",
}

type CreateReadError = (message: string, cause?: unknown) => GdnError

/**
 * Reads a regular file of limited size as UTF-8. Rejects devices, pipes and sockets, because reading them may never
 * end.
 *
 * @returns null if the file doesn't exist
 */
export async function readTextIfThere(path: string, maxBytes: number, code: ErrorCode): Promise<string | null> {
  const readError: CreateReadError = (message, cause) => new GdnError(code, message, { place: { file: path }, cause })
  const file = openIfThere(path, readError)
  if (file === null) return null
  try {
    const stats = fstatSync(file)
    if (stats.isDirectory()) throw readError('is a directory, not a file')
    if (!stats.isFile()) throw readError('is not a regular file')
    if (stats.size > maxBytes) throw readError(`is larger than ${maxBytes} bytes`)
    return decodeUtf8(readOrThrow(file, readError), path, code)
  } finally {
    closeSync(file)
  }
}

// Files are read synchronously, because the overhead of an asynchronous read of a small file exceeds the read itself.
function openIfThere(path: string, readError: CreateReadError): number | null {
  // Without O_NONBLOCK, opening a pipe that has no writer would block indefinitely.
  const { O_RDONLY, O_NONBLOCK } = constants
  try {
    return openSync(path, O_RDONLY | (O_NONBLOCK ?? 0))
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return null
    throw unreadableFileError(error, readError)
  }
}

function readOrThrow(file: number, readError: CreateReadError): Buffer {
  try {
    return readFileSync(file)
  } catch (error) {
    throw unreadableFileError(error, readError)
  }
}

function unreadableFileError(error: unknown, readError: CreateReadError): GdnError {
  const reason = systemCode(error) ?? ''
  return readError(READ_FAILURE_REASONS[reason] ?? `can't be read (${reason})`, error)
}

/** Like readTextIfThere, but throws if the file is missing. */
export async function readText(path: string, maxBytes: number, code: ErrorCode): Promise<string> {
  const text = await readTextIfThere(path, maxBytes, code)
  if (text === null) throw new GdnError(code, "doesn't exist", { place: { file: path } })
  return text
}

/** Decodes UTF-8. Throws for invalid bytes instead of replacing them. Keeps a byte order mark. */
export function decodeUtf8(bytes: Uint8Array, path: string, code: ErrorCode): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new GdnError(code, 'is not UTF-8 text', { place: { file: path } })
  }
}
