import { randomBytes } from 'node:crypto'
import { basename, join } from 'node:path'
import { unreachableError } from '../client/network-error.ts'
import { responseError } from '../client/response-error.ts'
import { TransportError, type TransportResponse } from '../client/transport.ts'
import { GdnError, messageOf } from '../core/errors.ts'
import { writeNewFile } from '../core/new-file.ts'
import type { Secret } from '../core/secret.ts'
import { shellWord } from '../core/shell-word.ts'
import { type KeystoreSeal, prepareSeal } from '../keystore/seal.ts'
import { KEYSTORE_EXTENSION, makeWalletFolder } from './folder.ts'
import { readWalletResponse, type ServiceWallet } from './read-response.ts'
import type { NameReservation } from './reservation.ts'
import { type NewWallet, verifyKeystore } from './store-key.ts'

/** Subfolder of the wallet folder for responses that did not result in a wallet. */
export const SET_ASIDE_FOLDER = 'set-aside'

export interface WalletSource {
  /** Returns a signed URL that has been checked. */
  signedUrl(): Promise<URL>
  /** Calls the URL once. Rejects with TransportError if there is no complete response. */
  call(url: URL): Promise<TransportResponse>
}

export interface GenerateOptions {
  source: WalletSource
  reservation: NameReservation
  /** The wallet folder. */
  folder: string
  password: Secret
  /** Fallback folders for files that can't be stored in the wallet folder. */
  otherFolders: readonly string[]
  /** Aborted by Ctrl-C. The signal has no effect once the signed URL has been called. */
  signal: AbortSignal
  /** Called for each step, to show progress. */
  onStep?: (step: 'deriving' | 'asking' | 'calling' | 'checking') => void
}

/**
 * Generates one wallet. Everything that can fail on this machine is done before the signed URL is called, because the
 * response is the only copy of the key. When the function returns, the keystore has been written, synced, read back and
 * decrypted.
 *
 * @throws GdnError `unknown_outcome` if the response was lost; `bad_answer` if the response contains no wallet
 */
export async function generateWallet(options: GenerateOptions): Promise<NewWallet> {
  const { source, reservation, password, signal, onStep } = options
  let seal: KeystoreSeal | null = null
  try {
    onStep?.('deriving')
    seal = await prepareSeal(password)
    signal.throwIfAborted()
    onStep?.('asking')
    const url = await source.signedUrl()
    signal.throwIfAborted()
    onStep?.('calling')
    const response = await callOnce(source, url)
    try {
      onStep?.('checking')
      const newWallet = readWalletResponse(response.body)
      if (!newWallet.ok) throw await setAsideError(options, seal, response, newWallet.problem)
      return await storeKeystore(options, seal, newWallet)
    } finally {
      response.body.fill(0)
    }
  } finally {
    seal?.wipe()
    await reservation.release().catch(() => {})
  }
}

/** Calls the signed URL and returns a 2xx response. Never retries. */
async function callOnce(source: WalletSource, url: URL): Promise<TransportResponse> {
  // Show the URL without its query, because the query is secret until it expires.
  const shownUrl = url.origin + url.pathname
  let response: TransportResponse
  try {
    response = await source.call(url)
  } catch (error) {
    if (!(error instanceof TransportError)) throw error
    throw error.sent ? lostWalletError(url, error.message, error) : unreachableError(shownUrl, error)
  }
  if (response.status >= 200 && response.status <= 299) return response
  if (response.status >= 500 || response.status === 408) throw lostWalletError(url, `it returned ${response.status}`)
  throw responseError('the signed URL', shownUrl, response)
}

function lostWalletError({ origin }: URL, reason: string, cause?: unknown): GdnError {
  return new GdnError('unknown_outcome', `the response of ${origin} was lost: ${reason}`, {
    hint: 'The service may have generated a wallet whose key is lost. That wallet has no name and no assets. Run the command again to generate another wallet.',
    cause,
  })
}

/** Stores an unusable response, because it may contain a key. Returns the error to throw. */
async function setAsideError(
  { folder, reservation, otherFolders }: GenerateOptions,
  seal: KeystoreSeal,
  { body, status }: TransportResponse,
  problem: string,
): Promise<GdnError> {
  const message = `the signed URL returned ${status}, but the response ${problem}`
  if (body.length === 0)
    return new GdnError('bad_answer', message, { hint: 'Nothing was stored. Contact the operator of the service.' })
  const text = seal.sealBytes(body)
  const asideFolder = join(folder, SET_ASIDE_FOLDER)
  try {
    makeWalletFolder(asideFolder)
  } catch {
    // Ignore this error, because the response can be stored in another folder.
  }
  const { file } = await saveAnywhere([asideFolder, ...otherFolders], `${reservation.name}-answer`, text)
  return new GdnError('bad_answer', message, {
    hint:
      file === null
        ? `Do not use an address from this response. The response could not be stored. This is the response, encrypted with your password: ${text.trim()}`
        : `Do not use an address from this response. The response is stored, encrypted with your password. Run \`gdn wallet export ${shellWord(file)} --to -\` to show it.`,
    details: file === null ? { answer: text } : { file },
  })
}

async function storeKeystore(
  { reservation, password, otherFolders }: GenerateOptions,
  seal: KeystoreSeal,
  { address, privateKey }: ServiceWallet,
): Promise<NewWallet> {
  const text = seal.sealKeystore(privateKey, address)
  try {
    const file = await reservation.keep(text, (written) => verifyKeystore(written, password, address))
    return { name: basename(file, KEYSTORE_EXTENSION), address, file, privateKey }
  } catch (error) {
    const elsewhere = await saveAnywhere(otherFolders, `gdn-wallet-${reservation.name}`, text)
    if (elsewhere.file === null) await reservation.keepDraft().catch(() => {})
    throw notKeptError(address, text, error, elsewhere)
  }
}

function notKeptError(address: string, text: string, error: unknown, { file }: FallbackCopy): GdnError {
  const reason = messageOf(error)
  return file === null
    ? new GdnError('unexpected', `the keystore of ${address} could not be written anywhere: ${reason}`, {
        hint: `Save the keystore in a file before you send anything to that address. The keystore is encrypted with your password: ${text.trim()}`,
        details: { address, keystore: text },
        cause: error,
      })
    : new GdnError('unexpected', `the keystore of ${address} could not be stored in the wallet folder: ${reason}`, {
        hint: `The keystore is in ${file}, encrypted with your password. Before you send anything to that address, run \`gdn wallet export ${shellWord(file)} --to -\` to check it.`,
        details: { address, file },
        cause: error,
      })
}

interface FallbackCopy {
  /** The path of the file, or null if the content couldn't be written to any folder. */
  file: string | null
  /** The errors of the folders that were tried before, in order. */
  reasons: string[]
}

/** Writes content that must not be lost to the first folder that accepts it, under a unique name. */
async function saveAnywhere(folders: readonly string[], name: string, text: string): Promise<FallbackCopy> {
  const reasons: string[] = []
  for (const folder of folders) {
    const file = join(folder, `${name}-${randomBytes(4).toString('hex')}.json`)
    try {
      if (await writeNewFile(file, text)) return { file, reasons }
    } catch (error) {
      reasons.push(messageOf(error))
    }
  }
  return { file: null, reasons }
}
