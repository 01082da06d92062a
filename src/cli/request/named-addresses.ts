import type { Settings } from '../../config/settings.ts'
import { flagError } from '../../core/errors.ts'
import type { AddressBook } from '../../wallet/address-book.ts'
import { nameProblem } from '../../wallet/names.ts'
import type { GdnCommand } from '../command.ts'

type OpenBook = () => Promise<AddressBook>

/** Fields of a request that contain the address of a wallet. */
export const NAMED_FIELDS = ['receiver_wallet_address', 'sender_wallet_address', 'wallet_address'] as const

const isName = (value: unknown): value is string => typeof value === 'string' && value.startsWith('@')

/** Replaces names such as `@alice` with addresses in all flags, so that commands never see a name. */
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

/** Rejects `alice` where `@alice` is known on this machine. Commands reject other words, which are no addresses. */
async function refuseBareName(value: unknown, flag: string, open: OpenBook): Promise<void> {
  if (typeof value !== 'string' || /^0x/i.test(value) || nameProblem(value) !== null) return
  const book = await open()
  if (book.problem !== null || !book.names().has(value)) return
  throw flagError(flag, `"${value}" is a name, not an address`, `Did you mean @${value}?`)
}

/** Replaces names with addresses in the fields of a request from a file. */
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
 * Returns the address of the configured wallet. Its name is resolved where the wallet is used: a wrong name is no error
 * for other commands.
 */
export async function configuredWallet({ wallet }: Settings, open: OpenBook): Promise<string | undefined> {
  if (wallet === null || !isName(wallet.value)) return wallet?.value
  return (await open()).resolve(wallet.value, { flag: `the wallet of ${wallet.from}` })
}
