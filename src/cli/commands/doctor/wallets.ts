import { existsSync } from 'node:fs'
import { walletsDirectory } from '../../../config/paths.ts'
import { messageOf } from '../../../core/errors.ts'
import { readExports, type WalletExport } from '../../../wallet/exports.ts'
import { type Finding, ok, warn } from './finding.ts'

const CHECK_NAME = 'wallets'

/** Display names of formats whose identifiers aren't plain English. */
const FORMATS: Readonly<Record<string, string>> = { 'private-key': 'private key', answer: 'response' }

/** Reports wallets whose keys were copied out of the wallet folder. Returns no findings if there are none. */
export function checkWallets(env: NodeJS.ProcessEnv): Finding[] {
  try {
    const exports = readExports(walletsDirectory(env))
    return [...new Set(exports.map(({ name }) => name))].flatMap((name) =>
      checkCopies(exports.filter((walletExport) => walletExport.name === name)),
    )
  } catch (error) {
    return [warn(CHECK_NAME, messageOf(error), null)]
  }
}

/**
 * Returns findings about the copies of a wallet's key: the latest unencrypted copy, and each unencrypted file that
 * still exists. If no copy is unencrypted, returns a finding about the latest keystore copy.
 */
function checkCopies(copies: readonly WalletExport[]): Finding[] {
  const plain = copies.filter(isPlain)
  const latest = (plain.length > 0 ? plain : copies).at(-1)
  const byPlace = new Map(plain.map((walletExport) => [walletExport.to, walletExport]))
  const shownCopies = [...byPlace.values()].filter(
    (walletExport) => walletExport === latest || fileExists(walletExport),
  )
  return (shownCopies.length > 0 ? shownCopies : latest === undefined ? [] : [latest]).map(toFinding)
}

const isPlain = ({ format }: WalletExport): boolean => format !== 'keystore'
const fileExists = ({ to }: WalletExport): boolean => to !== null && existsSync(to)

function toFinding(walletExport: WalletExport): Finding {
  const { name, format, to, at } = walletExport
  const day = at.slice(0, 10)
  const where = to === null ? 'to standard output' : `to ${to}`
  if (!isPlain(walletExport)) return ok(CHECK_NAME, `the encrypted keystore of @${name} was copied ${where} on ${day}`)
  const stillThere = fileExists(walletExport) ? ', and the file is still there' : ''
  return warn(
    CHECK_NAME,
    `the unencrypted ${FORMATS[format] ?? format} of @${name} was exported ${where} on ${day}${stillThere}`,
    "Delete every copy that you no longer need. If anyone else may have read a copy, move the wallet's assets to a new wallet.",
  )
}
