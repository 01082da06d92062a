import type { Settings } from '../../config/settings.ts'
import { flagError } from '../../core/errors.ts'
import type { AddressBook } from '../../wallet/address-book.ts'
import { nameProblem } from '../../wallet/names.ts'
import type { GdnCommand } from '../command.ts'

type OpenBook = () => Promise<AddressBook>

/** Request fields that contain a wallet address. */
export const NAMED_FIELDS = ['receiver_wallet_address', 'sender_wallet_address', 'wallet_address'] as const

const isName = (value: unknown): value is string => typeof value === 'string' && value.startsWith('@')

/** Replaces names such as `@alice` in all address flags, so that commands only see addresses. */
export async function nameFlags(command: GdnCommand, open: OpenBook): Promise<void> {
  for (const { long, attributeName } of command.options.map((option) => ({
    long: option.long ?? '',
    attributeName: option.attributeName(),
  }))) {
    const value: unknown = command.getOptionValue(attributeName)
    if (command.flagFacts.get(long)?.takes?.type !== 'address') continue
    if (isName(value)) command.setOptionValue(attributeName, (await open()).resolve(value, { flag: long }))
    else await refuseBareName(value, long, open)
  }
}

/**
 * Rejects `alice` if `@alice` is known on this machine. Commands themselves reject other words that aren't addresses.
 */
async function refuseBareName(value: unknown, flag: string, open: OpenBook): Promise<void> {
  if (typeof value !== 'string' || /^0x/i.test(value) || nameProblem(value) !== null) return
  const book = await open()
  if (book.problem !== null || !book.names().has(value)) return
  throw flagError(flag, `"${value}" is a name, not an address`, `Did you mean @${value}?`)
}

/** Replaces names with addresses in a request from a file. */
export async function nameFields(
  request: Record<string, unknown>,
  file: string,
  open: OpenBook,
): Promise<Record<string, unknown>> {
  const named = NAMED_FIELDS.filter((field) => isName(request[field]))
  if (named.length === 0) return request
  const book = await open()
  const resolved = named.map((field) => [field, book.resolve(String(request[field]), { file, field })] as const)
  return { ...request, ...Object.fromEntries(resolved) }
}

/**
 * Returns the address of the configured wallet. Its name is resolved here rather than when the configuration is loaded,
 * so that a wrong name doesn't break commands that don't use the wallet.
 */
export async function configuredWallet({ wallet }: Settings, open: OpenBook): Promise<string | undefined> {
  if (wallet === null || !isName(wallet.value)) return wallet?.value
  return (await open()).resolve(wallet.value, { flag: `the wallet of ${wallet.from}` })
}
