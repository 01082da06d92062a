import { isDeepStrictEqual } from 'node:util'
import { GdnError } from '../../core/errors.ts'
import type { Deps } from '../deps.ts'
import type { OutputFlags } from '../flags/common.ts'
import { createOutput, type DataRecord, type View } from '../render/output.ts'

const FIRST_WAIT_MS = 500
const MAX_WAIT_MS = 5000

/** The functions that fetch and print a watched list. */
interface WatchedList<Seen> {
  readSnapshot(signal: AbortSignal): Promise<Seen>
  toRecords(snapshot: Seen): readonly DataRecord[]
  /** Returns whether the records can no longer change. */
  isFinal(snapshot: Seen): boolean
  view: View
  /** Formats the fetched records for a terminal. */
  formatText(snapshot: Seen): Promise<string>
}

/**
 * Polls until the records are final, or until Ctrl-C, which isn't an error. A terminal shows only the latest state and
 * removes it at the end. Other output contains one line for each changed record.
 *
 * @returns the latest state, for the command to print; null if it was already printed as lines
 */
export async function watch<Seen>(deps: Deps, flags: OutputFlags, watched: WatchedList<Seen>): Promise<Seen | null> {
  const { io, signals, sleep } = deps
  if (flags.output === 'csv') {
    throw new GdnError('usage', "prints a line for each change, so it can't be combined with CSV", {
      place: { flag: '--watch' },
      hint: 'Use --json, or omit one of the flags.',
    })
  }
  signals.own()
  const isJson = flags.json === true || flags.output === 'json'
  const block = io.stdoutTty && !isJson && flags.output === undefined ? await io.block() : null
  const output = createOutput(io, isJson ? { ...flags, json: false, output: 'ndjson' } : flags, watched.view)
  const { id } = watched.view
  const before = new Map<unknown, DataRecord>()
  let snapshot: Seen | null = null
  let wait = FIRST_WAIT_MS
  try {
    do {
      snapshot = await watched.readSnapshot(signals.signal)
      const changed = watched.toRecords(snapshot).filter((record) => !isDeepStrictEqual(before.get(record[id]), record))
      for (const record of changed) before.set(record[id], record)
      if (block === null) await output.many(changed)
      else block.show((await watched.formatText(snapshot)).trimEnd().split('\n'))
      if (watched.isFinal(snapshot)) break
      wait = changed.length > 0 ? FIRST_WAIT_MS : Math.min(wait * 2, MAX_WAIT_MS)
      await sleep(wait, signals.signal)
    } while (!signals.signal.aborted)
  } catch (error) {
    if (!signals.signal.aborted) throw error
  } finally {
    block?.end()
  }
  return block === null ? null : snapshot
}
