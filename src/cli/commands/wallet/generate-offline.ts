import { flagError } from '../../../core/errors.ts'
import { newKey } from '../../../wallet/new-key.ts'
import { storeKey } from '../../../wallet/store-key.ts'
import type { Deps } from '../../deps.ts'
import type { GenerateFlags, WalletGenerator } from './generator.ts'
import { keyKind } from './wallet-record.ts'

/** Returns a generator of wallets whose keys are created by this process. It sends nothing to a server. */
export function withoutServer({ io, signals: { signal } }: Deps, flags: GenerateFlags): WalletGenerator {
  const ofServer = {
    '--local': flags.local,
    '--base-url': flags.baseUrl,
    '--email': flags.email,
    '--valid-for': flags.validFor,
  }
  for (const [flag, value] of Object.entries(ofServer)) {
    if (value === undefined) continue
    throw flagError(flag, "can't be used with --offline, which sends nothing to a server", `Omit ${flag} or --offline.`)
  }
  const kind = keyKind(flags.blockchain)
  return async ({ reservations, password, made }) => {
    const progress = await io.progress('Generating the wallet')
    try {
      for (const [i, reservation] of reservations.entries()) {
        signal.throwIfAborted()
        if (reservations.length > 1) progress.update(`Wallet ${i + 1} of ${reservations.length}`)
        made.push(await storeKey({ key: newKey(kind), reservation, password, signal }))
      }
    } finally {
      progress.stop()
    }
  }
}
