import { mkdir, readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import * as z from 'zod'
import { writeDurably } from '../../../../core/durable-file.ts'
import { parseJson } from '../../../../core/json.ts'
import { sha256Hex } from '../../../../core/sha256-hex.ts'
import type { JournalledBlock } from '../../../store/block-journal.ts'
import type { SignatureStatus } from '../network.ts'

const NEWLINE = 10

const header = z.strictObject({
  version: z.literal(1),
  chain: z.string(),
  slot: z.number(),
  block: z.string(),
  transactions: z.number(),
  sha256: z.string(),
  statuses: z.array(z.tuple([z.string(), z.number(), z.string().nullable()])),
})

/** The accounts of an embedded chain after one of its blocks, so that earlier blocks don't need to be replayed. */
export interface Snapshot {
  /** The slot of the last executed block. */
  slot: number
  /**
   * The result of {@link hashBlock} for that block. The snapshot is valid only if the journal has the same block there.
   */
  block: string
  /** Number of executed transactions. */
  transactions: number
  statuses: ReadonlyMap<string, SignatureStatus>
  machine: Uint8Array
}

export function hashBlock({ number, timestamp, transactions }: JournalledBlock): string {
  return sha256Hex([number, timestamp, ...transactions].join('\n'))
}

export async function writeSnapshot(path: string, chain: string, snapshot: Snapshot): Promise<void> {
  const { machine, statuses, ...facts } = snapshot
  const line = JSON.stringify({
    version: 1,
    chain,
    ...facts,
    sha256: sha256Hex(machine),
    statuses: Array.from(statuses, ([signature, { slot, error }]) => [signature, slot, error]),
  } satisfies z.input<typeof header>)
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  await writeDurably(path, async (file) => {
    await file.writeFile(`${line}\n`)
    await file.writeFile(machine)
  })
}

/** Returns the stored snapshot of a chain; null if there is none, or if it is damaged or belongs to another chain. */
export async function readSnapshot(path: string, chain: string): Promise<Snapshot | null> {
  const bytes = await readFile(path).catch(() => Buffer.alloc(0))
  const end = bytes.indexOf(NEWLINE)
  const parsed = header.safeParse(parseJson(bytes.subarray(0, end).toString()))
  if (!parsed.success || parsed.data.chain !== chain) return null
  const { slot, block, transactions, sha256, statuses } = parsed.data
  const machine = bytes.subarray(end + 1)
  if (sha256Hex(machine) !== sha256) return null
  const remembered = statuses.map(([signature, at, error]) => [signature, { slot: at, error }] as const)
  return { slot, block, transactions, statuses: new Map(remembered), machine }
}
