import type { ManifestRow } from '../../src/manifest/row.ts'

export const CONTRACT = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
export const RECEIVERS = [
  '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
  '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB',
  '0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb',
]

/** A row whose title is its number, by which the server counts how often it was minted. */
export function row(number: number, changes: Partial<ManifestRow> = {}): ManifestRow {
  return {
    line: number + 1,
    id: null,
    receiver: RECEIVERS[number % RECEIVERS.length] ?? '',
    sender: null,
    metadata: { title: `#${number}`, description: 'of a drop', file_fields: [] },
    localFiles: [],
    ...changes,
  }
}

export const rowsUpTo = (count: number): ManifestRow[] => Array.from({ length: count }, (_, index) => row(index + 1))
