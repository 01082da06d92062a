import { GdnError, messageOf } from '../../../core/errors.ts'
import type { Deps } from '../../deps.ts'
import { type Finding, ok, warn } from './finding.ts'

/** Nobody has a key of this name; asking for it shows whether the keyring answers. */
const NOBODY = 'https://doctor.invalid'

/** Parts of native code. The API needs none of them; a backend on this machine does. */
export async function checkNativeParts({ openKeyring }: Deps): Promise<Finding[]> {
  return [
    await part('anvil', 'the EVM chains of the local backend run', async () => {
      const { checkAnvil } = await import('../../../server/chain/evm/embedded/check-anvil.ts')
      await checkAnvil()
    }),
    await part('litesvm', 'the Solana chains of the local backend run', async () => {
      const { loadLiteSvm } = await import('../../../server/chain/solana/embedded/load-litesvm.ts')
      loadLiteSvm()
    }),
    await part('SQLite', 'the local backend can store', async () => {
      const { openSqlite } = await import('../../../sqlite/driver.ts')
      openSqlite(':memory:').close()
    }),
    await checkKeyring(openKeyring),
  ]
}

async function part(check: string, works: string, load: () => Promise<void>): Promise<Finding> {
  try {
    await load()
    return ok(check, works)
  } catch (error) {
    const fix = error instanceof GdnError ? (error.hint ?? null) : null
    return warn(check, messageOf(error), fix)
  }
}

/** A machine without a keyring is well: keys go to a file. */
async function checkKeyring(openKeyring: Deps['openKeyring']): Promise<Finding> {
  try {
    await (await openKeyring()).get(NOBODY)
    return ok('keyring', 'the system keyring works')
  } catch (error) {
    const [first = ''] = messageOf(error).split('\n')
    const reason = /D-?Bus/i.test(first) ? 'no Secret Service answers' : first
    return ok('keyring', `none that works, so keys are kept in a file that only you may read (${reason})`)
  }
}
