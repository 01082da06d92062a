import { randomBytes } from 'node:crypto'
import { basename, join } from 'node:path'
import { answerError } from '../client/answer-error.ts'
import { unreachable } from '../client/network-error.ts'
import { type TransportAnswer, TransportError } from '../client/transport.ts'
import { GdnError, messageOf } from '../core/errors.ts'
import { writeNewFile } from '../core/new-file.ts'
import type { Secret } from '../core/secret.ts'
import { MAX_KEYSTORE_BYTES } from '../keystore/limits.ts'
import { openKeystore } from '../keystore/open.ts'
import { quoted, readPrivateFile } from '../keystore/private-file.ts'
import { prepareSeal, type Seal } from '../keystore/seal.ts'
import { KEYSTORE_ENDING, makeWalletFolder } from './folder.ts'
import { type Answered, readWalletAnswer } from './read-answer.ts'
import type { Reservation } from './reservation.ts'

/** Where answers are kept that no wallet could be made of, below the folder of wallets. */
export const SET_ASIDE = 'set-aside'

export interface NewWallet {
  name: string
  address: string
  file: string
  privateKey: Secret
}

export interface WalletSource {
  /** A signed URL that has been checked. */
  signedUrl(): Promise<URL>
  /** Calls it, once. Rejects with TransportError where no whole answer came. */
  call(url: URL): Promise<TransportAnswer>
}

export interface GenerateOptions {
  source: WalletSource
  reservation: Reservation
  /** The folder of wallets. */
  folder: string
  password: Secret
  /** Where a keystore goes when its own place fails. */
  otherFolders: readonly string[]
  /** Aborted by Ctrl-C: heeded until the signed URL is called. */
  signal: AbortSignal
  /** Told of each step, for progress. */
  onStep?: (step: 'deriving' | 'asking' | 'calling' | 'checking') => void
}

/**
 * Makes one wallet: what can fail on this machine is done before the signed URL is called, because its answer is the
 * only copy of the key. When this returns, the keystore was written, synced, read back and decrypted.
 *
 * @throws GdnError `unknown_outcome` when the answer was lost; `bad_answer` when there is no wallet in it
 */
export async function generateWallet(options: GenerateOptions): Promise<NewWallet> {
  const { source, reservation, password, signal, onStep } = options
  let seal: Seal | null = null
  try {
    onStep?.('deriving')
    seal = await prepareSeal(password)
    signal.throwIfAborted()
    onStep?.('asking')
    const url = await source.signedUrl()
    signal.throwIfAborted()
    onStep?.('calling')
    const answer = await callOnce(source, url)
    try {
      onStep?.('checking')
      const read = readWalletAnswer(answer.body)
      if (!read.ok) throw await setAside(options, seal, answer, read.problem)
      return await keep(options, seal, read)
    } finally {
      answer.body.fill(0)
    }
  } finally {
    seal?.wipe()
    await reservation.release().catch(() => {})
  }
}

/** The answer of 2xx. Nothing is tried a second time. */
async function callOnce(source: WalletSource, url: URL): Promise<TransportAnswer> {
  // Without its query, which is a secret until it has expired.
  const shown = url.origin + url.pathname
  let answer: TransportAnswer
  try {
    answer = await source.call(url)
  } catch (error) {
    if (!(error instanceof TransportError)) throw error
    throw error.sent ? lost(url, error.message, error) : unreachable(shown, error)
  }
  if (answer.status >= 200 && answer.status <= 299) return answer
  if (answer.status >= 500 || answer.status === 408) throw lost(url, `it answered ${answer.status}`)
  throw answerError('the signed URL', shown, answer)
}

function lost({ origin }: URL, reason: string, cause?: unknown): GdnError {
  return new GdnError('unknown_outcome', `the answer of ${origin} was lost: ${reason}`, {
    hint: 'a wallet may have been made of which nobody has the key. Nothing was sent to it, no name stands for it, and nothing needs to be undone: run the command again for another one',
    ...(cause === undefined ? {} : { cause }),
  })
}

/** What was answered isn't thrown away: it may hold a key, whatever is wrong with it. */
async function setAside(
  { folder, reservation, otherFolders }: GenerateOptions,
  seal: Seal,
  { body, status }: TransportAnswer,
  problem: string,
): Promise<GdnError> {
  const said = `the signed URL answered ${status}, but the answer ${problem}`
  if (body.length === 0)
    return new GdnError('bad_answer', said, { hint: 'nothing was kept; the service has a problem' })
  const text = seal.bytes(body)
  const own = join(folder, SET_ASIDE)
  try {
    makeWalletFolder(own)
  } catch {
    // Then it is kept elsewhere.
  }
  const { file } = await keepAnywhere([own, ...otherFolders], `${reservation.name}-answer`, text)
  return new GdnError('bad_answer', said, {
    hint:
      file === null
        ? `do not use that address. The answer could be kept nowhere; this is it, encrypted with your password: ${text.trim()}`
        : `do not use that address. The answer is kept, encrypted with your password: gdn wallet export ${quoted(file)} --to - shows it`,
    details: file === null ? { answer: text } : { file },
  })
}

async function keep(
  { reservation, password, otherFolders }: GenerateOptions,
  seal: Seal,
  { address, privateKey }: Answered,
): Promise<NewWallet> {
  const text = seal.keystore(privateKey, address)
  try {
    const file = await reservation.keep(text, (written) => prove(written, password, address))
    return { name: basename(file, KEYSTORE_ENDING), address, file, privateKey }
  } catch (error) {
    const elsewhere = await keepAnywhere(otherFolders, `gdn-wallet-${reservation.name}`, text)
    if (elsewhere.file === null) await reservation.leave().catch(() => {})
    throw notKept(address, text, error, elsewhere)
  }
}

/** Reads the keystore back and opens it, as it will be opened one day. */
async function prove(file: string, password: Secret, address: string): Promise<void> {
  const opened = await openKeystore(readPrivateFile(file, MAX_KEYSTORE_BYTES), password, file)
  if (opened.address !== address.toLowerCase()) throw new Error(`${file} holds another key than was written`)
}

function notKept(address: string, text: string, error: unknown, { file }: KeptElsewhere): GdnError {
  const reason = messageOf(error)
  return file === null
    ? new GdnError('unexpected', `the keystore of ${address} could be written nowhere: ${reason}`, {
        hint: `this is it, encrypted with your password. Save it in a file before anything is sent to that address: ${text.trim()}`,
        details: { address, keystore: text },
        cause: error,
      })
    : new GdnError('unexpected', `the keystore of ${address} could not be kept among the wallets: ${reason}`, {
        hint: `it is in ${file}, encrypted with your password. Open it before anything is sent to that address: gdn wallet export ${quoted(file)} --to -`,
        details: { address, file },
        cause: error,
      })
}

interface KeptElsewhere {
  /** Null where no folder takes it. */
  file: string | null
  /** Why each place before it didn't. */
  reasons: string[]
}

/** Writes what must not be lost into the first folder that takes it, under a name of its own. */
async function keepAnywhere(folders: readonly string[], name: string, text: string): Promise<KeptElsewhere> {
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
