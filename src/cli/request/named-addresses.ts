import { isEnsName } from '../../api/ens-name.ts'
import type { Settings } from '../../config/settings.ts'
import { flagError, type Place } from '../../core/errors.ts'
import type { AddressBook } from '../../wallet/address-book.ts'
import { nameProblem } from '../../wallet/names.ts'
import type { GdnCommand } from '../command.ts'

type OpenBook = () => Promise<AddressBook>

/** Request fields that contain a wallet address. */
export const NAMED_FIELDS = ['receiver_wallet_address', 'sender_wallet_address', 'wallet_address'] as const

const isName = (value: unknown): value is string => typeof value === 'string' && value.startsWith('@')

/**
 * Replaces names such as `@alice` in all address flags. Only normalizes ENS names such as `alice.eth`, because the
 * command resolves them when the blockchain is known.
 */
export async function resolveNamesInFlags(command: GdnCommand, open: OpenBook): Promise<void> {
  for (const { long, attributeName } of command.options.map((option) => ({
    long: option.long ?? '',
    attributeName: option.attributeName(),
  }))) {
    const value: unknown = command.getOptionValue(attributeName)
    if (command.flagDetails.get(long)?.takes?.type !== 'address') continue
    if (isName(value)) command.setOptionValue(attributeName, (await open()).resolve(value, { flag: long }))
    else {
      await refuseBareName(value, long, open)
      if (isEnsName(value)) command.setOptionValue(attributeName, await normalizeEnsAt(value, { flag: long }))
    }
  }
}

async function normalizeEnsAt(name: string, place: Place): Promise<string> {
  const { normalizeEnsName } = await import('../flags/ens.ts')
  return await normalizeEnsName(name, place)
}

/**
 * Rejects `alice` if the name `@alice` exists on this machine. Commands themselves reject other words that aren't
 * addresses.
 */
async function refuseBareName(value: unknown, flag: string, open: OpenBook): Promise<void> {
  if (typeof value !== 'string' || /^0x/i.test(value) || nameProblem(value) !== null) return
  const book = await open()
  if (book.problem !== null || !book.names().has(value)) return
  throw flagError(flag, `"${value}" is a name, not an address`, `Did you mean @${value}?`)
}

/** Replaces names such as `@alice` with addresses in a request from a file, and normalizes ENS names. */
export async function resolveNamesInFields(
  request: Record<string, unknown>,
  file: string,
  open: OpenBook,
): Promise<Record<string, unknown>> {
  const normalized: Record<string, string> = {}
  for (const field of NAMED_FIELDS) {
    const value = request[field]
    if (isEnsName(value)) normalized[field] = await normalizeEnsAt(value, { file, field })
  }
  const fieldsWithNames = NAMED_FIELDS.filter((field) => isName(request[field]))
  if (fieldsWithNames.length === 0) return { ...request, ...normalized }
  const book = await open()
  const resolved = fieldsWithNames.map(
    (field) => [field, book.resolve(String(request[field]), { file, field })] as const,
  )
  return { ...request, ...normalized, ...Object.fromEntries(resolved) }
}

/**
 * Returns the address or the ENS name of the configured wallet. A name on this machine is resolved here, not when the
 * configuration is loaded. A wrong name thus affects only commands that use the wallet.
 */
export async function resolveConfiguredWallet({ wallet }: Settings, open: OpenBook): Promise<string | undefined> {
  if (wallet === null || !isName(wallet.value)) return wallet?.value
  return (await open()).resolve(wallet.value, toWalletPlace(wallet))
}

/** Returns the location of the configured wallet, for messages. */
export const toWalletPlace = (wallet: Settings['wallet']): Place => ({ flag: `the wallet of ${wallet?.from}` })
