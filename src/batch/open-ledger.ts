import { createReadStream } from 'node:fs'
import { writeDurably } from '../core/durable-file.ts'
import { type Fence, openAppendFile } from './journal/append-file.ts'
import { foldJournal, type JournalEnd, RecordFile } from './journal/read.ts'
import { JournalWriter } from './journal/writer.ts'
import { Ledger } from './ledger.ts'
import { journalPath, latestGeneration, type RunIdentity, runRef } from './run-files.ts'
import type { AppendFile } from './types.ts'

/** What a journal says, and up to where it is whole. */
export interface OpenLedger extends JournalEnd {
  ledger: Ledger
}

/**
 * Folds a journal. Reads only: another process may be writing it.
 *
 * @throws GdnError `data_dir` for one that is damaged or of a newer format
 */
export async function loadLedger(path: string): Promise<OpenLedger> {
  const ledger = new Ledger()
  return { ...(await foldJournal(path, (record, span) => ledger.apply(record, span))), ledger }
}

/** Opens a journal to go on with it; what a crash left after its whole part is cut. Only who holds the lock may. */
export async function openWriter(
  path: string,
  { end, lacksLineEnd }: Pick<JournalEnd, 'end' | 'lacksLineEnd'>,
  fence: Fence,
  wrap: (file: AppendFile) => AppendFile = (file) => file,
): Promise<{ writer: JournalWriter; records: RecordFile }> {
  const file = wrap(await openAppendFile(path, end, fence))
  if (lacksLineEnd) await file.append(Buffer.from('\n'))
  const writer = new JournalWriter(path, file, lacksLineEnd ? end + 1 : end)
  return { writer, records: await RecordFile.open(path) }
}

/**
 * Puts copies in the place of a run's journals: whoever has one of them open and wakes up writes into a file that is
 * nobody's any more. What it wrote before is in the copy.
 */
export async function renewJournals(stateDir: string, identity: RunIdentity): Promise<void> {
  for (let generation = await latestGeneration(stateDir, identity); generation > 0; generation--) {
    const path = journalPath(stateDir, runRef(identity, generation).id)
    await writeDurably(path, async (file) => {
      for await (const piece of createReadStream(path)) await file.appendFile(piece)
    })
  }
}
