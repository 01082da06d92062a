import { existsSync } from 'node:fs'
import { walletsDirectory } from '../../../config/paths.ts'
import { messageOf } from '../../../core/errors.ts'
import { readExports, type WalletExport } from '../../../wallet/exports.ts'
import { type Finding, ok, warn } from './finding.ts'

const CHECK = 'wallets'

/** Reports wallets whose keys were copied out of the wallet folder. Empty if there are none. */
export function checkWallets(env: NodeJS.ProcessEnv): Finding[] {
  try {
    const newest = new Map<string, WalletExport>()
    // An unencrypted copy of a key matters more than later copies of the keystore.
    for (const one of readExports(walletsDirectory(env))) {
      const known = newest.get(one.name)
      if (known === undefined || !isPlain(known) || isPlain(one)) newest.set(one.name, one)
    }
    return [...newest.values()].map(findingOf)
  } catch (error) {
    return [warn(CHECK, messageOf(error), null)]
  }
}

const isPlain = ({ format }: WalletExport): boolean => format !== 'keystore'

function findingOf(one: WalletExport): Finding {
  const { name, format, to, at } = one
  const day = at.slice(0, 10)
  const where = to === null ? 'to standard output' : `to ${to}`
  if (!isPlain(one)) return ok(CHECK, `the keystore of @${name} was copied ${where} on ${day}, encrypted`)
  const isThere = to !== null && existsSync(to) ? ', and the file is still there' : ''
  return warn(
    CHECK,
    `the ${format} of @${name} was exported ${where} on ${day}, unencrypted${isThere}`,
    "Delete every copy that you no longer need. If somebody else may have read one, move the wallet's assets to a new wallet.",
  )
}
