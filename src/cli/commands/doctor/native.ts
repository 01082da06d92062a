import { GdnError, messageOf } from '../../../core/errors.ts'
import type { Deps } from '../../deps.ts'
import { type Finding, ok, warn } from './finding.ts'

/** An origin for which no key is saved. A lookup of its key shows whether the keyring responds. */
const UNSAVED_ORIGIN = 'https://doctor.invalid'

/** Checks the native packages that a local backend needs, and the keyring. The state directory also needs SQLite. */
export async function checkNativeParts({ openKeyring }: Deps): Promise<Finding[]> {
  return [
    await checkPart('anvil', 'available for the EVM chains of the local backend', async () => {
      const { checkAnvil } = await import('../../../server/chain/evm/embedded/check-anvil.ts')
      await checkAnvil()
    }),
    await checkPart('litesvm', 'available for the Solana chains of the local backend', async () => {
      const { loadLiteSvm } = await import('../../../server/chain/solana/embedded/load-litesvm.ts')
      loadLiteSvm()
    }),
    await checkPart('SQLite', 'available for the local backend and the state directory', async () => {
      const { openSqlite } = await import('../../../sqlite/driver.ts')
      openSqlite(':memory:').close()
    }),
    await checkKeyring(openKeyring),
  ]
}

async function checkPart(check: string, works: string, load: () => Promise<void>): Promise<Finding> {
  try {
    await load()
    return ok(check, works)
  } catch (error) {
    const fix = error instanceof GdnError ? (error.hint ?? null) : null
    return warn(check, messageOf(error), fix)
  }
}

/**
 * Reports whether the system keyring works. A missing keyring isn't a problem, because keys are then saved in a file.
 */
async function checkKeyring(openKeyring: Deps['openKeyring']): Promise<Finding> {
  try {
    await (await openKeyring()).get(UNSAVED_ORIGIN)
    return ok('keyring', 'the system keyring works')
  } catch (error) {
    const [first = ''] = messageOf(error).split('\n')
    const reason = /D-?Bus/i.test(first) ? 'no Secret Service responds' : first
    return ok('keyring', `not available, so keys are saved in a file that only you can read (${reason})`)
  }
}
