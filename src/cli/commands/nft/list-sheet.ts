import { existsSync } from 'node:fs'
import type { Blockchain } from '../../../api/blockchains.ts'
import type { NftRecord } from '../../../api/nft-record.ts'
import { isSameAddress } from '../../../api/same-address.ts'
import { readAttribute } from '../../../api/traits.ts'
import { ManifestColumns } from '../../../batch/rows/manifest-cells.ts'
import { listRuns } from '../../../batch/runs/runs.ts'
import type { Settings } from '../../../config/settings.ts'
import { isObject } from '../../../core/json.ts'
import { readCsvHeader } from '../../../manifest/csv-header.ts'
import type { ManifestRow } from '../../../manifest/row.ts'
import { manifestOptions } from '../../batch/options/manifest-options.ts'
import {
  manifestColumnsAnd,
  orderColumnsByHeader,
  printResultsCsv,
  type ResultRecord,
} from '../../batch/report/results-csv.ts'
import type { Deps } from '../../deps.ts'
import { createCsv } from '../../render/csv.ts'
import { type DataRecord, withBurned } from '../../render/view.ts'

/** Fields that follow the manifest's columns. */
const FIELDS = [
  ...['token_id', 'status', 'nft_gdn_id', 'contract_address', 'blockchain', 'metadata_url', 'error', 'revision'],
  ...['is_dynamic', 'is_frozen', 'burned'],
]

/**
 * Returns the manifest of a collection's newest run on this machine whose manifest still exists; null if there is none.
 */
export async function findNewestManifest(
  { stateDir }: Pick<Settings, 'stateDir'>,
  { contract, blockchain }: { contract: string; blockchain: Blockchain },
): Promise<string | null> {
  for (const run of await listRuns(stateDir)) {
    const { manifestPath: path } = run
    const isOf = run.blockchain === blockchain && isSameAddress(run.contractAddress, contract)
    if (isOf && path !== null && existsSync(path)) return path
  }
  return null
}

/**
 * Prints NFTs as manifest rows. Each row ends with the NFT's other fields. Metadata columns have readable names. If
 * there is a manifest, uses its separator, headers and column order.
 */
export async function printSheet(
  deps: Deps,
  settings: Settings,
  records: readonly NftRecord[],
  { manifest, blockchain }: { manifest: string | null; blockchain: Blockchain },
): Promise<void> {
  const naming = manifestOptions(deps, {}, settings)
  const header = manifest === null ? null : await readCsvHeader(manifest, naming)
  const columns = new ManifestColumns(null)
  const rows = records.map((record) => ({ record: { ...record, blockchain } as DataRecord, row: nftAsRow(record) }))
  for (const { row } of rows) columns.learn(row)
  const shownColumns = orderColumnsByHeader(columns, header, naming)
  await printResultsCsv(deps.io, toAsync(rows), {
    columns: shownColumns,
    chosen: manifestColumnsAnd(shownColumns, FIELDS),
    csv: createCsv(deps.io, { forSpreadsheet: true }, header?.separator),
    shown: withBurned,
  })
}

async function* toAsync(rows: readonly ResultRecord[]): AsyncGenerator<ResultRecord> {
  yield* rows
}

/** Returns an NFT as a manifest row. If the format of the metadata is unknown, the title is empty. */
function nftAsRow({ request_metadata, receiver_wallet_address, burned }: NftRecord): ManifestRow {
  const { title, description, file_fields, attribute, ...extras } = Object(request_metadata) as Readonly<
    Record<string, unknown>
  >
  return {
    line: 0,
    id: null,
    receiver: burned === true ? '' : stringifyValue(receiver_wallet_address),
    sender: null,
    localFiles: [],
    metadata: {
      ...Object.fromEntries(Object.entries(extras).map(([key, value]) => [key, stringifyValue(value)])),
      title: stringifyValue(title),
      description: stringifyValue(description),
      file_fields: objectsIn(file_fields).map(({ key, url }) => ({
        key: stringifyValue(key),
        url: stringifyValue(url),
      })),
      attribute: objectsIn(attribute).map(readAttribute),
    },
  }
}

const objectsIn = (list: unknown): Readonly<Record<string, unknown>>[] =>
  Array.isArray(list) ? list.filter(isObject) : []

const stringifyValue = (value: unknown): string =>
  typeof value === 'string' ? value : value == null ? '' : (JSON.stringify(value) ?? '')
