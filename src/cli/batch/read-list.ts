import type { Blockchain } from '../../api/blockchains.ts'
import { readListRows } from '../../manifest/list-rows.ts'
import type { ManifestOptions, ManifestReading } from '../../manifest/read.ts'
import type { Deps } from '../deps.ts'
import { type Checking, ContractReceivers } from './contract-receivers.ts'
import type { StoredList } from './receiver-list.ts'

interface ListFiles {
  /** The manifest with the row that each receiver gets. */
  row: string
  /** The file with the receivers; null for standard input. */
  to: string | null
  list: StoredList
  /** How to find receivers that are contracts; null to read all receivers. */
  checking: Omit<Checking, 'blockchain'> | null
}

/** Opens a manifest's only row and the list of its receivers. Messages name both files by the given paths. */
export function readList(
  deps: Deps,
  { row, to, list, checking }: ListFiles,
  options: ManifestOptions & { blockchain: Blockchain },
): ManifestReading {
  const source = to === null ? { stdin: deps.io.stdin } : { path: to }
  const check = checking === null ? undefined : new ContractReceivers(deps, { ...checking, ...options })
  return readListRows(row, { ...list, source, check }, options)
}
