import type { Blockchain } from '../../../api/blockchains.ts'
import { readListRows } from '../../../manifest/list-rows.ts'
import type { ManifestOptions, ManifestReading, ManifestSource } from '../../../manifest/read.ts'
import type { StoredList } from '../../../state/drops.ts'
import { buildGroupList } from '../../../wallet/group-list.ts'
import { isValidName } from '../../../wallet/names.ts'
import type { Deps } from '../../deps.ts'
import { ContractReceivers, type ReceiverCheckOptions } from './contract-receivers.ts'

interface ListInput {
  /** The manifest. Its only row is minted to each receiver. */
  row: string
  /** The file with the receivers, or a group such as `@team`; null for standard input. */
  to: string | null
  list: StoredList
  /** The settings for finding receivers that are contracts; null to read all receivers without this check. */
  contractCheck: Omit<ReceiverCheckOptions, 'blockchain'> | null
}

/** Opens a manifest with a single row and the list of its receivers. Messages use the given paths. */
export function readList(
  deps: Deps,
  { row, to, list, contractCheck }: ListInput,
  options: ManifestOptions & { blockchain: Blockchain },
): ManifestReading {
  const notes: string[] = []
  const source = toListSource(deps, to, notes)
  const check = contractCheck === null ? undefined : new ContractReceivers(deps, { ...contractCheck, ...options })
  return readListRows(row, { ...list, source, notes, check }, options)
}

function toListSource(deps: Deps, to: string | null, notes: string[]): ManifestSource {
  if (to === null) return { stdin: deps.io.stdin }
  return isValidName(to) ? { stdin: readGroupMembers(deps, to, notes), name: to } : { path: to }
}

/** Yields the members of a group as a list of receivers. Adds a note if several members have the same address. */
async function* readGroupMembers(
  { addresses }: Pick<Deps, 'addresses'>,
  group: string,
  notes: string[],
): AsyncGenerator<Uint8Array> {
  const { text, note } = buildGroupList(await addresses(), group, {})
  if (note !== null && !notes.includes(note)) notes.push(note)
  yield Buffer.from(text)
}
