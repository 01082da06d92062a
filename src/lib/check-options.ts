import { API_VERSIONS } from '../api/versions.ts'
import { GdnError } from '../core/errors.ts'
import type { FileToUpload } from './call.ts'

// An untyped program may pass any value. If a misspelled option were ignored, requests could be sent to the wrong
// server, or a call could use the wrong timeout.

const CLIENT_OPTIONS = ['baseUrl', 'apiKey', 'stateDir', 'apiVersion']
const WAIT_OPTIONS = ['timeoutMs', 'signal']
const OPERATION_OPTIONS = [...WAIT_OPTIONS, 'idempotencyKey', 'wait']

/**
 * Checks the options of a client.
 *
 * @throws GdnError `invalid_config` for an option that does not exist, or for an unknown API version
 */
export function checkClientOptions(options: object): void {
  // Accept the object that `startLocal` returns as options. Its functions are ignored.
  const values = Object.entries(options).filter(([, value]) => typeof value !== 'function')
  const unknown = values.find(([name]) => !CLIENT_OPTIONS.includes(name))
  if (unknown !== undefined) {
    throw new GdnError('invalid_config', `${unknown[0]} is not an option of createClient()`, {
      hint: listOf(CLIENT_OPTIONS),
    })
  }
  const { apiVersion } = options as { apiVersion?: unknown }
  if (apiVersion === undefined || API_VERSIONS.some((version) => version === apiVersion)) return
  const names = API_VERSIONS.map((version) => `'${version}'`).join(' or ')
  throw new GdnError('invalid_config', `apiVersion must be ${names}`, { hint: 'Omit apiVersion for version 1.1.' })
}

/**
 * Checks the options of an operation.
 *
 * @throws GdnError `invalid_input`
 */
export const checkOperationOptions = (options: unknown) => checkCall(options, OPERATION_OPTIONS)

/**
 * Checks the options of a wait.
 *
 * @throws GdnError `invalid_input`
 */
export const checkWaitOptions = (options: unknown) => checkCall(options, WAIT_OPTIONS)

function checkCall(options: unknown, knownOptions: readonly string[]): void {
  const givenOptions: Record<string, unknown> = { ...(options as object | undefined) }
  const unknown = Object.keys(givenOptions).find((name) => !knownOptions.includes(name))
  if (unknown !== undefined) throw invalidOptionError(unknown, 'is not an option of this call', listOf(knownOptions))
  const { timeoutMs = 0 } = givenOptions
  if (typeof timeoutMs === 'number' && timeoutMs >= 0) return
  throw invalidOptionError('timeoutMs', 'must be a non-negative number of milliseconds')
}

/**
 * Checks a list of IDs.
 *
 * @throws GdnError `invalid_input` for anything but a list of IDs
 */
export function checkIds(ids: unknown): void {
  if (Array.isArray(ids) && ids.every((id) => typeof id === 'string' && id !== '')) return
  throw invalidOptionError('ids', 'must be a list of NFT IDs')
}

/**
 * Checks a file to upload.
 *
 * @throws GdnError `invalid_input` for anything but a path or bytes
 */
export function checkFile(input: unknown): asserts input is FileToUpload {
  const file = (input as Partial<FileToUpload> | null | undefined)?.file
  if ((typeof file === 'string' && file !== '') || file instanceof Uint8Array) return
  throw invalidOptionError('file', 'must be a path, or the bytes of a file')
}

const listOf = (names: readonly string[]) => `The options are ${names.slice(0, -1).join(', ')} and ${names.at(-1)}.`

const invalidOptionError = (field: string, message: string, hint?: string) =>
  new GdnError('invalid_input', `${field} ${message}`, { place: { field }, hint })
